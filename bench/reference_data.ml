(* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 *)
(* The programs of data.hia and treebank.hia in OCaml, as its programmers write them.

     peer_data_ocaml NAME N RUNS             prints the result and the milliseconds of each run
     peer_data_ocaml word_count FILE RUNS *)

let i32 x = (x lsl 31) asr 31 (* wraps *)

(* ---- binary trees ---- *)

type tree = Leaf | Node of tree * tree

let rec make depth = if depth = 0 then Leaf else Node (make (depth - 1), make (depth - 1))
let rec check = function Leaf -> 1 | Node (l, r) -> check l + check r + 1

let binary_trees n =
  let long = make n and sum = ref 0 and depth = ref 4 in
  while !depth <= n do
    for _ = 1 to 1 lsl (n - !depth + 4) do sum := !sum + check (make !depth) done;
    depth := !depth + 4
  done;
  !sum + check long

(* ---- red-black trees: insertions (Okasaki 1999) ---- *)

type map = Empty | At of bool * map * int * bool * map (* true: red *)

let balance_left l k v r = match l with
  | Empty -> Empty
  | At (_, At (true, lx, kx, vx, rx), ky, vy, ry) ->
    At (true, At (false, lx, kx, vx, rx), ky, vy, At (false, ry, k, v, r))
  | At (_, ly, ky, vy, At (true, lx, kx, vx, rx)) ->
    At (true, At (false, ly, ky, vy, lx), kx, vx, At (false, rx, k, v, r))
  | At (_, lx, kx, vx, rx) -> At (false, At (true, lx, kx, vx, rx), k, v, r)

let balance_right l k v r = match r with
  | Empty -> Empty
  | At (_, At (true, lx, kx, vx, rx), ky, vy, ry) ->
    At (true, At (false, l, k, v, lx), kx, vx, At (false, rx, ky, vy, ry))
  | At (_, lx, kx, vx, At (true, ly, ky, vy, ry)) ->
    At (true, At (false, l, k, v, lx), kx, vx, At (false, ly, ky, vy, ry))
  | At (_, lx, kx, vx, rx) -> At (false, l, k, v, At (true, lx, kx, vx, rx))

let is_red = function At (true, _, _, _, _) -> true | _ -> false

let rec ins t (kx : int) vx = match t with
  | Empty -> At (true, Empty, kx, vx, Empty)
  | At (true, l, k, v, r) ->
    if kx < k then At (true, ins l kx vx, k, v, r)
    else if k < kx then At (true, l, k, v, ins r kx vx)
    else At (true, l, kx, vx, r)
  | At (false, l, k, v, r) ->
    if kx < k then
      if is_red l then balance_left (ins l kx vx) k v r else At (false, ins l kx vx, k, v, r)
    else if k < kx then
      if is_red r then balance_right l k v (ins r kx vx) else At (false, l, k, v, ins r kx vx)
    else At (false, l, kx, vx, r)

let blacken = function At (_, l, k, v, r) -> At (false, l, k, v, r) | Empty -> Empty
let insert t k v = if is_red t then blacken (ins t k v) else ins t k v
let rec count = function
  | Empty -> 0
  | At (_, l, _, v, r) -> count l + (if v then 1 else 0) + count r
let rec fill n t = if n = 0 then t else fill (n - 1) (insert t n (n mod 10 = 0))
let rbtree n = count (fill n Empty)

let rec fill_keeping n t kept =
  if n = 0 then t :: kept
  else
    let more = insert t n (n mod 10 = 0) in
    fill_keeping (n - 1) more (if n mod 5 = 0 then more :: kept else kept)
let rbtree_keep n = count (List.hd (fill_keeping n Empty []))

(* ---- expressions ---- *)

type expr =
  | Val of int | Var of int | Add of expr * expr | Mul of expr * expr | Pow of expr * expr
  | Ln of expr

let rec power a n =
  if n = 0 then 1
  else if n = 1 then a
  else
    let b = power a (n / 2) in
    b * b * (if n mod 2 = 0 then 1 else a)

let rec add f g = match f, g with
  | Val 0, g -> g
  | Val n, Val m -> Val (n + m)
  | Val n, Add (Val m, h) -> add (Val (n + m)) h
  | Val _, g -> Add (f, g)
  | f, Val 0 -> f
  | f, Val _ -> add g f
  | f, Add (Val n, h) -> add (Val n) (add f h)
  | Add (a, b), g -> add a (add b g)
  | f, g -> Add (f, g)

let rec mul f g = match f, g with
  | Val 0, _ -> f
  | Val 1, g -> g
  | Val _, Val 0 -> g
  | Val _, Val 1 -> f
  | Val n, Val m -> Val (n * m)
  | Val n, Mul (Val m, h) -> mul (Val (n * m)) h
  | Val _, g -> Mul (f, g)
  | _, Val 0 -> g
  | f, Val 1 -> f
  | f, Val _ -> mul g f
  | f, Mul (Val n, h) -> mul (Val n) (mul f h)
  | Mul (a, b), g -> mul a (mul b g)
  | f, g -> Mul (f, g)

let pow_of m n = match m, n with
  | _, Val 0 -> Val 1
  | m, Val 1 -> m
  | Val 0, _ -> Val 0
  | Val j, Val k -> Val (power j k)
  | m, n -> Pow (m, n)

let ln = function Val 1 -> Val 0 | n -> Ln n

let rec d x = function
  | Val _ -> Val 0
  | Var y -> if x = y then Val 1 else Val 0
  | Add (f, g) -> add (d x f) (d x g)
  | Mul (f, g) -> add (mul f (d x g)) (mul g (d x f))
  | Pow (f, g) ->
    mul (pow_of f g) (add (mul (mul g (d x f)) (pow_of f (Val (-1)))) (mul (ln f) (d x g)))
  | Ln f -> mul (d x f) (pow_of f (Val (-1)))

let rec size = function
  | Val _ | Var _ -> 1
  | Add (f, g) | Mul (f, g) | Pow (f, g) -> size f + size g
  | Ln f -> size f

let deriv n =
  let x = Var 1 in
  let rec go i e sum =
    if i = n then sum
    else
      let next = d 1 e in
      go (i + 1) next (sum + size next) in
  go 0 (pow_of x x) 0

let rec expression n v =
  if n = 0 then if v = 0 then Var 1 else Val v
  else Add (expression (n - 1) (v + 1), expression (n - 1) (max (v - 1) 0))
let rec append_add f g = match f with Add (a, b) -> Add (a, append_add b g) | _ -> Add (f, g)
let rec append_mul f g = match f with Mul (a, b) -> Mul (a, append_mul b g) | _ -> Mul (f, g)
let rec reassociate = function
  | Add (a, b) -> append_add (reassociate a) (reassociate b)
  | Mul (a, b) -> append_mul (reassociate a) (reassociate b)
  | e -> e
let fold_add f g = match f, g with
  | Val n, Val m -> Val (n + m)
  | Val n, Add (h, Val m) | Val n, Add (Val m, h) -> Add (Val (n + m), h)
  | _ -> Add (f, g)
let fold_mul f g = match f, g with
  | Val n, Val m -> Val (n * m)
  | Val n, Mul (h, Val m) | Val n, Mul (Val m, h) -> Mul (Val (n * m), h)
  | _ -> Mul (f, g)
let rec fold = function
  | Add (a, b) -> fold_add (fold a) (fold b)
  | Mul (a, b) -> fold_mul (fold a) (fold b)
  | e -> e
let rec eval = function
  | Val n -> n
  | Add (a, b) -> eval a + eval b
  | Mul (a, b) -> eval a * eval b
  | _ -> 0
let cfold n = eval (fold (reassociate (expression n 1)))

(* ---- queens, with lists of lists ---- *)

let rec is_safe (queen : int) diagonal = function
  | [] -> true
  | q :: rest ->
    queen <> q && queen <> q + diagonal && queen <> q - diagonal
    && is_safe queen (diagonal + 1) rest
let rec append_safe k xs xss =
  if k <= 0 then xss else append_safe (k - 1) xs (if is_safe k 1 xs then (k :: xs) :: xss else xss)
let rec extend n acc = function [] -> acc | xs :: rest -> extend n (append_safe n xs acc) rest
let rec solutions n k = if k = 0 then [ [] ] else extend n [] (solutions n (k - 1))
let nqueens n = List.length (solutions n n)

let rec place n left queens =
  if left = 0 then 1
  else
    let rec columns q found =
      if q = 0 then found
      else
        columns (q - 1)
          (if is_safe q 1 queens then found + place n (left - 1) (q :: queens) else found) in
    columns n 0
let search_queens n = place n n []

(* ---- sorting lists ---- *)

let rec numbers n seed xs =
  if n = 0 then xs
  else
    let next = i32 ((seed * 1103515245) + 12345) in
    numbers (n - 1) next (((next asr 8) land 65535) :: xs)
let rec partition_list (p : int) = function
  | [] -> ([], [])
  | x :: rest ->
    let below, above = partition_list p rest in
    if x < p then (x :: below, above) else (below, x :: above)
let rec sort_quickly xs behind = match xs with
  | [] -> behind
  | p :: rest ->
    let below, above = partition_list p rest in
    sort_quickly below (p :: sort_quickly above behind)
let rec halve xs n = if n = 0 then ([], xs) else match xs with
  | [] -> ([], [])
  | x :: rest -> let front, back = halve rest (n - 1) in (x :: front, back)
let rec merge (xs : int list) ys = match xs, ys with
  | [], ys -> ys
  | xs, [] -> xs
  | x :: xrest, y :: yrest -> if x <= y then x :: merge xrest ys else y :: merge xs yrest
let rec sort_merging xs n =
  if n <= 1 then xs
  else
    let front, back = halve xs (n / 2) in
    merge (sort_merging front (n / 2)) (sort_merging back (n - (n / 2)))
let digest xs = List.fold_left (fun sum x -> i32 ((sum * 31) + x)) 0 xs
let quicksort n = digest (sort_quickly (numbers n 42 []) [])
let mergesort n = digest (sort_merging (numbers n 42 []) n)

(* ---- arrays ---- *)

let sieve n =
  let is_composite = Bytes.make n '\000' and p = ref 2 and count = ref 0 in
  while !p * !p < n do
    if Bytes.get is_composite !p = '\000' then begin
      let i = ref (!p * !p) in
      while !i < n do
        Bytes.set is_composite !i '\001';
        i := !i + !p
      done
    end;
    incr p
  done;
  for i = 2 to n - 1 do if Bytes.get is_composite i = '\000' then incr count done;
  !count

let array_sort n =
  let seed = ref 42 in
  let a = Array.init n (fun i ->
    seed := i32 ((!seed * 1103515245) + 12345);
    ((!seed asr 8) land 65535, i)) in
  let swap i j = let x = a.(i) in a.(i) <- a.(j); a.(j) <- x in
  let rec sort lo hi =
    if hi - lo >= 2 then begin
      let pivot : int = fst a.(hi - 1) and k = ref lo in
      for i = lo to hi - 2 do
        if fst a.(i) < pivot then begin swap !k i; incr k end
      done;
      swap !k (hi - 1);
      sort lo !k;
      sort (!k + 1) hi
    end in
  sort 0 n;
  Array.fold_left (fun sum (x, _) -> i32 ((sum * 31) + x)) 0 a

let array_queens n =
  let queens = Array.make n 0 in
  let is_free row column =
    let rec look k =
      k = row
      || (let q = queens.(k) in
          q <> column && q <> column + (row - k) && q <> column - (row - k) && look (k + 1)) in
    look 0 in
  let rec place row =
    let found = ref 0 in
    for column = 0 to n - 1 do
      if is_free row column then
        if row + 1 = n then incr found
        else begin
          queens.(row) <- column;
          found := !found + place (row + 1)
        end
    done;
    !found in
  place 0

(* ---- a treebank ---- *)

type phrase = Word of int * int | Phrase of phrase * phrase * int

let read_phrases text =
  let words = Hashtbl.create 1024 and at = ref 0 and size = String.length text in
  let is_blank c = c = ' ' || (c >= '\t' && c <= '\r') in
  let skip () = while !at < size && is_blank text.[!at] do incr at done in
  let expect c = if !at < size && text.[!at] = c then incr at else failwith "brackets" in
  let rec read_phrase () =
    expect '(';
    let label = ref 0 in
    while text.[!at] >= '0' && text.[!at] <= '9' do
      label := (!label * 10) + Char.code text.[!at] - 48;
      incr at
    done;
    skip ();
    let t =
      if text.[!at] = '(' then begin
        let left = read_phrase () in
        skip ();
        let right = read_phrase () in
        Phrase (left, right, !label)
      end else begin
        let start = !at in
        while not (is_blank text.[!at]) && text.[!at] <> '(' && text.[!at] <> ')' do incr at done;
        let word = String.sub text start (!at - start) in
        match Hashtbl.find_opt words word with
        | Some k -> Word (k, !label)
        | None ->
          let k = Hashtbl.length words in
          Hashtbl.add words word k;
          Word (k, !label)
      end in
    skip ();
    expect ')';
    t in
  let rec all phrases =
    skip ();
    if !at = size then List.rev phrases else all (read_phrase () :: phrases) in
  all []

let rec last_word = function
  | Word (word, _) -> word
  | Phrase (l, r, _) ->
    let a : int = last_word l and b = last_word r in
    if a > b then a else b

let word_count phrases =
  let n = 1 + List.fold_left (fun last t -> max last (last_word t)) (-1) phrases in
  let times = Array.make n 0 and labels = Array.make n 0 in
  let rec tally = function
    | Word (word, label) ->
      times.(word) <- times.(word) + 1;
      labels.(word) <- labels.(word) + label
    | Phrase (l, r, _) -> tally l; tally r in
  List.iter tally phrases;
  let different = ref 0 and most = ref 0 and sum = ref 0 in
  for i = 0 to n - 1 do
    if times.(i) > 0 then incr different;
    if times.(i) > !most then begin most := times.(i); sum := labels.(i) end
  done;
  (((!different * 31) + !most) * 31) + !sum

let programs = [
  "binary_trees", binary_trees; "rbtree", rbtree; "rbtree_keep", rbtree_keep; "deriv", deriv;
  "cfold", cfold; "nqueens", nqueens; "search_queens", search_queens; "quicksort", quicksort; "mergesort", mergesort;
  "sieve", sieve; "array_sort", array_sort; "array_queens", array_queens ]

let measure run runs =
  for _ = 1 to runs do
    let start = Sys.time () in
    let result = i32 (run ()) in
    Printf.printf "%d %.6f\n" result ((Sys.time () -. start) *. 1e3)
  done

let () =
  if Array.length Sys.argv <> 4 then exit 2;
  let name = Sys.argv.(1) and argument = Sys.argv.(2) and runs = int_of_string Sys.argv.(3) in
  if name = "word_count" then begin
    let file = open_in_bin argument in
    let phrases = read_phrases (really_input_string file (in_channel_length file)) in
    measure (fun () -> word_count phrases) runs
  end else
    match List.assoc_opt name programs with
    | None -> exit 2
    | Some run -> measure (fun () -> run (int_of_string argument)) runs
