-- Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
-- The programs of data.hia and treebank.hia in Haskell: data types are strict, arrays are unboxed and changed in ST.
--
--   peer_data_haskell NAME N RUNS               prints the result and the milliseconds of each run
--   peer_data_haskell word_count FILE RUNS
{-# LANGUAGE BangPatterns, StrictData #-}
-- Equal calls are not merged: a tree would have one node a level.
{-# OPTIONS_GHC -fno-cse #-}
module Main (main) where

import Control.Exception (evaluate)
import Control.Monad (forM_, replicateM_, when)
import Control.Monad.ST (ST)
import Data.Array.Base (unsafeAt, unsafeRead, unsafeWrite)
import Data.Array.ST (STUArray, newArray, newListArray, runSTUArray)
import Data.Array.Unboxed (UArray)
import Data.Bits (shiftL, shiftR, (.&.))
import qualified Data.ByteString.Char8 as B
import Data.Int (Int32)
import qualified Data.Map.Strict as Map
import Data.Word (Word8)
import GHC.Clock (getMonotonicTimeNSec)
import System.Environment (getArgs)
import Text.Printf (printf)

i32 :: Int -> Int -- wraps
i32 x = fromIntegral (fromIntegral x :: Int32)

-- ---- binary trees ----

data Tree = Leaf | Node Tree Tree

make :: Int -> Tree
make 0 = Leaf
make depth = Node (make (depth - 1)) (make (depth - 1))

check :: Tree -> Int
check Leaf = 1
check (Node l r) = check l + check r + 1

binaryTrees :: Int -> Int
binaryTrees n = short 4 0 + check long
  where
    long = make n
    short depth !total
      | depth > n = total
      | otherwise = short (depth + 4) (total + trees (1 `shiftL` (n - depth + 4)) depth 0)

trees :: Int -> Int -> Int -> Int
trees 0 _ !total = total
trees k depth total = trees (k - 1) depth (total + check (make depth))

-- ---- red-black trees: insertions (Okasaki 1999) ----

data Map = Empty | At Bool Map Int Bool Map

balanceLeft :: Map -> Int -> Bool -> Map -> Map
balanceLeft l k v r = case l of
  Empty -> Empty
  At _ (At True lx kx vx rx) ky vy ry -> At True (At False lx kx vx rx) ky vy (At False ry k v r)
  At _ ly ky vy (At True lx kx vx rx) -> At True (At False ly ky vy lx) kx vx (At False rx k v r)
  At _ lx kx vx rx -> At False (At True lx kx vx rx) k v r

balanceRight :: Map -> Int -> Bool -> Map -> Map
balanceRight l k v r = case r of
  Empty -> Empty
  At _ (At True lx kx vx rx) ky vy ry -> At True (At False l k v lx) kx vx (At False rx ky vy ry)
  At _ lx kx vx (At True ly ky vy ry) -> At True (At False l k v lx) kx vx (At False ly ky vy ry)
  At _ lx kx vx rx -> At False l k v (At True lx kx vx rx)

isRed :: Map -> Bool
isRed (At True _ _ _ _) = True
isRed _ = False

ins :: Map -> Int -> Bool -> Map
ins Empty kx vx = At True Empty kx vx Empty
ins (At True l k v r) kx vx
  | kx < k = At True (ins l kx vx) k v r
  | k < kx = At True l k v (ins r kx vx)
  | otherwise = At True l kx vx r
ins (At False l k v r) kx vx
  | kx < k = if isRed l then balanceLeft (ins l kx vx) k v r else At False (ins l kx vx) k v r
  | k < kx = if isRed r then balanceRight l k v (ins r kx vx) else At False l k v (ins r kx vx)
  | otherwise = At False l kx vx r

blacken :: Map -> Map
blacken (At _ l k v r) = At False l k v r
blacken Empty = Empty

insert :: Map -> Int -> Bool -> Map
insert t k v = if isRed t then blacken (ins t k v) else ins t k v

count :: Map -> Int
count Empty = 0
count (At _ l _ v r) = count l + (if v then 1 else 0) + count r

rbtree :: Int -> Int
rbtree = count . fill Empty
  where
    fill !t 0 = t
    fill t n = fill (insert t n (n `rem` 10 == 0)) (n - 1)

rbtreeKeep :: Int -> Int
rbtreeKeep = count . head . fill Empty []
  where
    fill !t kept 0 = t : kept
    fill t kept n =
      let !more = insert t n (n `rem` 10 == 0)
       in fill more (if n `rem` 5 == 0 then more : kept else kept) (n - 1)

-- ---- expressions ----

data Expr = Val Int | Var Int | Add Expr Expr | Mul Expr Expr | Pow Expr Expr | Ln Expr

power :: Int -> Int -> Int
power _ 0 = 1
power a 1 = a
power a n = b * b * (if even n then 1 else a)
  where
    b = power a (n `quot` 2)

add :: Expr -> Expr -> Expr
add (Val 0) g = g
add (Val n) (Val m) = Val (n + m)
add (Val n) (Add (Val m) h) = add (Val (n + m)) h
add f@(Val _) g = Add f g
add f (Val 0) = f
add f g@(Val _) = add g f
add f (Add (Val n) h) = add (Val n) (add f h)
add (Add a b) g = add a (add b g)
add f g = Add f g

mul :: Expr -> Expr -> Expr
mul f@(Val 0) _ = f
mul (Val 1) g = g
mul (Val _) g@(Val 0) = g
mul f@(Val _) (Val 1) = f
mul (Val n) (Val m) = Val (n * m)
mul (Val n) (Mul (Val m) h) = mul (Val (n * m)) h
mul f@(Val _) g = Mul f g
mul _ g@(Val 0) = g
mul f (Val 1) = f
mul f g@(Val _) = mul g f
mul f (Mul (Val n) h) = mul (Val n) (mul f h)
mul (Mul a b) g = mul a (mul b g)
mul f g = Mul f g

powOf :: Expr -> Expr -> Expr
powOf _ (Val 0) = Val 1
powOf m (Val 1) = m
powOf (Val 0) _ = Val 0
powOf (Val j) (Val k) = Val (power j k)
powOf m n = Pow m n

ln :: Expr -> Expr
ln (Val 1) = Val 0
ln n = Ln n

d :: Int -> Expr -> Expr
d _ (Val _) = Val 0
d x (Var y) = if x == y then Val 1 else Val 0
d x (Add f g) = add (d x f) (d x g)
d x (Mul f g) = add (mul f (d x g)) (mul g (d x f))
d x (Pow f g) = mul (powOf f g) (add (mul (mul g (d x f)) (powOf f (Val (-1)))) (mul (ln f) (d x g)))
d x (Ln f) = mul (d x f) (powOf f (Val (-1)))

size :: Expr -> Int
size (Val _) = 1
size (Var _) = 1
size (Add f g) = size f + size g
size (Mul f g) = size f + size g
size (Pow f g) = size f + size g
size (Ln f) = size f

deriv :: Int -> Int
deriv n = go 0 (powOf x x) 0
  where
    x = Var 1
    go i e !total
      | i == n = total
      | otherwise = let !next = d 1 e in go (i + 1) next (total + size next)

expression :: Int -> Int -> Expr
expression 0 0 = Var 1
expression 0 v = Val v
expression n v = Add (expression (n - 1) (v + 1)) (expression (n - 1) (max (v - 1) 0))

appendAdd, appendMul :: Expr -> Expr -> Expr
appendAdd (Add a b) g = Add a (appendAdd b g)
appendAdd f g = Add f g
appendMul (Mul a b) g = Mul a (appendMul b g)
appendMul f g = Mul f g

reassociate :: Expr -> Expr
reassociate (Add a b) = appendAdd (reassociate a) (reassociate b)
reassociate (Mul a b) = appendMul (reassociate a) (reassociate b)
reassociate e = e

foldAdd, foldMul :: Expr -> Expr -> Expr
foldAdd (Val n) (Val m) = Val (n + m)
foldAdd (Val n) (Add h (Val m)) = Add (Val (n + m)) h
foldAdd (Val n) (Add (Val m) h) = Add (Val (n + m)) h
foldAdd f g = Add f g
foldMul (Val n) (Val m) = Val (n * m)
foldMul (Val n) (Mul h (Val m)) = Mul (Val (n * m)) h
foldMul (Val n) (Mul (Val m) h) = Mul (Val (n * m)) h
foldMul f g = Mul f g

foldConstants :: Expr -> Expr
foldConstants (Add a b) = foldAdd (foldConstants a) (foldConstants b)
foldConstants (Mul a b) = foldMul (foldConstants a) (foldConstants b)
foldConstants e = e

eval :: Expr -> Int
eval (Val n) = n
eval (Add a b) = eval a + eval b
eval (Mul a b) = eval a * eval b
eval _ = 0

cfold :: Int -> Int
cfold n = eval (foldConstants (reassociate (expression n 1)))

-- ---- queens, with lists of lists ----

data List = Nil | Cons Int List
data Lists = Done | More List Lists

isSafe :: Int -> Int -> List -> Bool
isSafe _ _ Nil = True
isSafe queen diagonal (Cons q rest) =
  queen /= q && queen /= q + diagonal && queen /= q - diagonal && isSafe queen (diagonal + 1) rest

solutions :: Int -> Int -> Lists
solutions _ 0 = More Nil Done
solutions n k = extend (solutions n (k - 1)) Done
  where
    extend Done to = to
    extend (More s rest) to = extend rest (appendSafe n s to)
    appendSafe q s to
      | q <= 0 = to
      | isSafe q 1 s = appendSafe (q - 1) s (More (Cons q s) to)
      | otherwise = appendSafe (q - 1) s to

nqueens :: Int -> Int
nqueens n = howMany (solutions n n) 0
  where
    howMany Done !k = k
    howMany (More _ rest) k = howMany rest (k + 1)

searchQueens :: Int -> Int
searchQueens n = place n Nil
  where
    place 0 _ = 1
    place left queens = columns n 0
      where
        columns 0 !found = found
        columns q found
          | isSafe q 1 queens = columns (q - 1) (found + place (left - 1 :: Int) (Cons q queens))
          | otherwise = columns (q - 1) found

-- ---- sorting lists ----

numbers :: Int -> List
numbers count_ = go count_ 42 Nil
  where
    go 0 _ xs = xs
    go n seed xs = go (n - 1 :: Int) next (Cons ((next `shiftR` 8) .&. 65535) xs)
      where
        !next = i32 (seed * 1103515245 + 12345)

partitionList :: Int -> List -> (List, List)
partitionList _ Nil = (Nil, Nil)
partitionList p (Cons x rest)
  | x < p = (Cons x below, above)
  | otherwise = (below, Cons x above)
  where
    !(below, above) = partitionList p rest

sortQuickly :: List -> List -> List
sortQuickly Nil behind = behind
sortQuickly (Cons p rest) behind = sortQuickly below (Cons p (sortQuickly above behind))
  where
    !(below, above) = partitionList p rest

halve :: List -> Int -> (List, List)
halve xs 0 = (Nil, xs)
halve Nil _ = (Nil, Nil)
halve (Cons x rest) n = (Cons x front, back)
  where
    !(front, back) = halve rest (n - 1)

merge :: List -> List -> List
merge Nil ys = ys
merge xs Nil = xs
merge xs@(Cons x xrest) ys@(Cons y yrest)
  | x <= y = Cons x (merge xrest ys)
  | otherwise = Cons y (merge xs yrest)

sortMerging :: List -> Int -> List
sortMerging xs n
  | n <= 1 = xs
  | otherwise = merge (sortMerging front (n `div` 2)) (sortMerging back (n - n `div` 2))
  where
    !(front, back) = halve xs (n `div` 2)

digest :: List -> Int
digest = go 0
  where
    go !total Nil = total
    go total (Cons x rest) = go (i32 (total * 31 + x)) rest

quicksort, mergesort :: Int -> Int
quicksort n = digest (sortQuickly (numbers n) Nil)
mergesort n = digest (sortMerging (numbers n) n)

-- ---- arrays ----

sieve :: Int -> Int
sieve n = go 2 0
  where
    go i !k
      | i >= n = k
      | otherwise = go (i + 1) (if unsafeAt marks i == 0 then k + 1 else k)
    marks :: UArray Int Word8
    marks = runSTUArray $ do
      a <- newArray (0, n - 1) 0
      let strike i step = when (i < n) $ unsafeWrite a i 1 >> strike (i + step) step
          from p = when (p * p < n) $ do
            mark <- unsafeRead a p
            when (mark == 0) $ strike (p * p) p
            from (p + 1)
      from 2
      return a

arraySort :: Int -> Int
arraySort n = go 0 0
  where
    go i !total
      | i == n = total
      | otherwise = go (i + 1) (i32 (total * 31 + unsafeAt sorted i))
    sorted :: UArray Int Int
    sorted = runSTUArray $ do
      keys <- newArray (0, n - 1) 0
      at <- newListArray (0, n - 1) [0 .. n - 1]
      let fill i seed = when (i < n) $ do
            let next = i32 (seed * 1103515245 + 12345)
            unsafeWrite keys i ((next `shiftR` 8) .&. 65535)
            fill (i + 1) next
      fill 0 42
      sortPairs keys at 0 n
      return keys

sortPairs :: STUArray s Int Int -> STUArray s Int Int -> Int -> Int -> ST s ()
sortPairs keys at lo hi = when (hi - lo >= 2) $ do
  pivot <- unsafeRead keys (hi - 1)
  let partition i k
        | i == hi - 1 = swap k i >> return k
        | otherwise = do
          key <- unsafeRead keys i
          if key < pivot then swap k i >> partition (i + 1) (k + 1) else partition (i + 1) k
  k <- partition lo lo
  sortPairs keys at lo k
  sortPairs keys at (k + 1) hi
  where
    swap i j = swapIn keys i j >> swapIn at i j

swapIn :: STUArray s Int Int -> Int -> Int -> ST s ()
swapIn a i j = do
  x <- unsafeRead a i
  y <- unsafeRead a j
  unsafeWrite a i y
  unsafeWrite a j x

arrayQueens :: Int -> Int
arrayQueens n = unsafeAt found 0
  where
    found :: UArray Int Int
    found = runSTUArray $ do
      queens <- newArray (0, n - 1) 0
      result <- newArray (0, 0) 0
      place queens 0 >>= unsafeWrite result 0
      return result
    place :: STUArray s Int Int -> Int -> ST s Int
    place queens row = columns 0 0
      where
        columns column !k
          | column == n = return k
          | otherwise = do
            free <- isFree queens row column 0
            if not free
              then columns (column + 1) k
              else
                if row + 1 == n
                  then columns (column + 1) (k + 1)
                  else do
                    unsafeWrite queens row column
                    more <- place queens (row + 1)
                    columns (column + 1) (k + more)

isFree :: STUArray s Int Int -> Int -> Int -> Int -> ST s Bool
isFree queens row column i
  | i == row = return True
  | otherwise = do
    q <- unsafeRead queens i
    if q /= column && q /= column + (row - i) && q /= column - (row - i)
      then isFree queens row column (i + 1)
      else return False

-- ---- a treebank ----

data Phrase = Word Int Int | Phrase Phrase Phrase Int
data Reading a = Reading a B.ByteString (Map.Map B.ByteString Int)

readPhrases :: B.ByteString -> [Phrase]
readPhrases = go Map.empty
  where
    go words_ text
      | B.null rest = []
      | otherwise = let Reading t after known = readPhrase rest words_ in t : go known after
      where
        rest = B.dropWhile isBlank text

isBlank :: Char -> Bool
isBlank c = c == ' ' || (c >= '\t' && c <= '\r')

readPhrase :: B.ByteString -> Map.Map B.ByteString Int -> Reading Phrase
readPhrase text known = case B.readInt (B.tail (expect '(' text)) of
  Nothing -> error "expected a label"
  Just (label, behind)
    | B.head inner == '(' ->
      let Reading l afterLeft known' = readPhrase inner known
          Reading r afterRight known'' = readPhrase (B.dropWhile isBlank afterLeft) known'
       in Reading (Phrase l r label) (close afterRight) known''
    | otherwise -> case Map.lookup token known of
      Just k -> Reading (Word k label) (close after) known
      Nothing ->
        let k = Map.size known
         in Reading (Word k label) (close after) (Map.insert (B.copy token) k known)
    where
      inner = B.dropWhile isBlank behind
      (token, after) = B.span (\c -> not (isBlank c) && c /= '(' && c /= ')') inner
  where
    close = B.tail . expect ')' . B.dropWhile isBlank
    expect c s = if not (B.null s) && B.head s == c then s else error ("expected " ++ [c])

lastWord :: Phrase -> Int
lastWord (Word word _) = word
lastWord (Phrase l r _) = max (lastWord l) (lastWord r)

wordCount :: [Phrase] -> Int
wordCount phrases = i32 ((different * 31 + most) * 31 + labels)
  where
    n = foldl (\most_ t -> max most_ (lastWord t)) (-1) phrases + 1
    (different, most, labels) = go 0 0 0 0
    go :: Int -> Int -> Int -> Int -> (Int, Int, Int)
    go i !k !m !s
      | i == n = (k, m, s)
      | otherwise =
        let times = unsafeAt counts (2 * i)
         in go (i + 1) (if times > 0 then k + 1 else k) (max m times)
              (if times > m then unsafeAt counts (2 * i + 1) else s)
    counts :: UArray Int Int
    counts = runSTUArray $ do
      a <- newArray (0, 2 * n - 1) 0
      mapM_ (tally a) phrases
      return a

tally :: STUArray s Int Int -> Phrase -> ST s ()
tally counts (Word word label) = do
  times <- unsafeRead counts (2 * word)
  total <- unsafeRead counts (2 * word + 1)
  unsafeWrite counts (2 * word) (times + 1)
  unsafeWrite counts (2 * word + 1) (total + label)
tally counts (Phrase l r _) = tally counts l >> tally counts r

-- ---- the command line ----

programs :: [(String, Int -> Int)]
programs =
  [ ("binary_trees", binaryTrees), ("rbtree", rbtree), ("rbtree_keep", rbtreeKeep), ("deriv", deriv),
    ("cfold", cfold), ("nqueens", nqueens), ("search_queens", searchQueens), ("quicksort", quicksort),
    ("mergesort", mergesort), ("sieve", sieve), ("array_sort", arraySort), ("array_queens", arrayQueens) ]

-- A call that the compiler cannot move out of the loop of runs.
call :: (a -> Int) -> a -> IO Int
call f x = evaluate (f x)
{-# NOINLINE call #-}

measure :: Int -> (a -> Int) -> a -> IO ()
measure runs f x = replicateM_ runs $ do
  start <- getMonotonicTimeNSec
  result <- call f x
  end <- getMonotonicTimeNSec
  printf "%d %.6f\n" (i32 result) (fromIntegral (end - start) / 1e6 :: Double)
{-# NOINLINE measure #-}

main :: IO ()
main = do
  args <- getArgs
  case args of
    ["word_count", path, runs] -> do
      phrases <- readPhrases <$> B.readFile path
      forM_ phrases evaluate
      measure (read runs) wordCount phrases
    [name, n, runs] | Just f <- lookup name programs -> measure (read runs) f (read n)
    _ -> error "usage: NAME N RUNS"
