/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: mistakes with data types, patterns, matches, arrays and comprehensions. */
#include "tests/unit/helpers/builder.h"

/* f has begun, t: Tree and n: i64 and a: [Tree] are its parameters; `other` is another builder. */
typedef struct made {
  hia_builder *b, *other;
  hia_build_type tree, trees, later, pair, foreign_tree;
  hia_build_ctor leaf, node, foreign_leaf;
  hia_build_fn f;
  value t, n, a, x, p, part[3];
  hia_build_pattern any, foreign_any, is_leaf;
} made;

#define FIELDS(...) ((const hia_build_field[]){__VA_ARGS__})
#define VALUES(...) ((const value[]){__VA_ARGS__})
#define MATCH(of)   hia_build_match(m.b, of)
#define ARM(text)   hia_build_arm(m.b, text, NULL, 0)

#define MISTAKES(_)                                                                                \
  _("declare type: no definition", hia_build_declare_type(m.b, NULL))                              \
  _("declare type: a name expected at the end", hia_build_declare_type(m.b, " "))                  \
  _("declare type: 'tree': the name of a type starts with a capital letter",                       \
    hia_build_declare_type(m.b, "tree"))                                                           \
  _("declare type: '_': the name of a type", hia_build_declare_type(m.b, "_ = A"))                 \
  _("declare type of 'Tree': 'Tree' is declared already", hia_build_declare_type(m.b, "Tree"))     \
  _("declare type of 'Tree': 'Tree' is declared already", hia_build_declare_type(m.b, "Tree = X")) \
  _("declare type of 'Later': 'Later' is declared already", hia_build_declare_type(m.b, "Later"))  \
  _("declare type of 'X': '=' expected at '(i32)'", hia_build_declare_type(m.b, "X(i32)"))         \
  _("declare type of 'X': a name expected at the end", hia_build_declare_type(m.b, "X = "))        \
  _("declare type of 'X': '|' expected at ', B'", hia_build_declare_type(m.b, "X = A, B"))         \
  _("declare type of 'X': a name expected at ')'", hia_build_declare_type(m.b, "X = A()"))         \
  _("declare type of 'X': '_' is no name", hia_build_declare_type(m.b, "X = _"))                   \
  _("declare type of 'X': 'a': the name of a constructor starts with a capital letter",            \
    hia_build_declare_type(m.b, "X = a"))                                                          \
  _("declare type of 'X': 'Leaf' is declared already", hia_build_declare_type(m.b, "X = Leaf"))    \
  _("declare type of 'X': 'A' is declared already", hia_build_declare_type(m.b, "X = A | A"))      \
  _("declare type of 'X': two fields are called 'a'",                                              \
    hia_build_declare_type(m.b, "X = A(a: i32, a: i64)"))                                          \
  _("declare type of 'X': there is no type 'Tre'", hia_build_declare_type(m.b, "X = A(t: Tre)"))   \
  _("declare type of 'X': an array of i32: scalars in a row are a tensor",                         \
    hia_build_declare_type(m.b, "X = A(t: [i32])"))                                                \
  _("declare type of 'X': ']' expected at ')'", hia_build_declare_type(m.b, "X = A(t: [Tree)"))    \
  _("read type: no text", hia_build_read_type(m.b, NULL))                                          \
  _("read type: a type expected at 'tree'", hia_build_read_type(m.b, "tree"))                      \
  _("read type: nothing more expected at ']'", hia_build_read_type(m.b, "Tree]"))                  \
  _("array type: an array of f32", hia_build_array_type(m.b, HIA_F32))                             \
  _("array type: the element is no type", hia_build_array_type(m.b, HIA_BUILD_NO_TYPE))            \
  _("array type: the element is another builder's", hia_build_array_type(m.b, m.foreign_tree))     \
  _("constructor: no name", hia_build_add_ctor(m.b, m.later, NULL, NULL, 0))                       \
  _("constructor: 'a b' is no name", hia_build_add_ctor(m.b, m.later, "a b", NULL, 0))             \
  _("constructor of 'b': 'b': the name of a constructor starts with a capital letter",             \
    hia_build_add_ctor(m.b, m.later, "b", NULL, 0))                                                \
  _("constructor of 'Leaf': 'Leaf' is declared already",                                           \
    hia_build_add_ctor(m.b, m.later, "Leaf", NULL, 0))                                             \
  _("constructor of 'B': the type is i32, no data type",                                           \
    hia_build_add_ctor(m.b, HIA_I32, "B", NULL, 0))                                                \
  _("constructor of 'B': the type is [Tree], no data type",                                        \
    hia_build_add_ctor(m.b, m.trees, "B", NULL, 0))                                                \
  _("constructor of 'B': the type is another builder's",                                           \
    hia_build_add_ctor(m.b, m.foreign_tree, "B", NULL, 0))                                         \
  _("constructor of 'B': no fields", hia_build_add_ctor(m.b, m.later, "B", NULL, 1))               \
  _("constructor of 'B': 1001 fields", hia_build_add_ctor(m.b, m.later, "B", NULL, 1001))          \
  _("constructor of 'B': the type of field 2 is no type",                                          \
    hia_build_add_ctor(m.b, m.later, "B", FIELDS({"x", HIA_I32}, {"y", 9}), 2))                    \
  _("constructor of 'B': two fields are called 'x'",                                               \
    hia_build_add_ctor(m.b, m.later, "B", FIELDS({"x", HIA_I32}, {"x", 1}), 2))                    \
  _("constructor of 'B': 'x y' is no name",                                                        \
    hia_build_add_ctor(m.b, m.later, "B", FIELDS({"x y", HIA_I32}), 1))                            \
  _("find constructor: no name", hia_build_find_ctor(m.b, NULL))                                   \
  _("find constructor: there is no constructor 'Lea'", hia_build_find_ctor(m.b, "Lea"))            \
  _("find constructor: there is no constructor 'f'", hia_build_find_ctor(m.b, "f"))                \
  _("find constructor: there is no constructor 'sqrt'", hia_build_find_ctor(m.b, "sqrt"))          \
  _("declare of 'Leaf': 'Leaf' is declared already", hia_build_declare(m.b, "Leaf() -> i32"))      \
  _("declare of 'g': there is no type 'Wood': it must be declared first",                          \
    hia_build_declare(m.b, "g(t: Wood) -> i32"))                                                   \
  _("declare of 'g': the type of parameter 2 is (i32, Tree): functions of the host have no data",  \
    hia_build_declare(m.b, "extern fn g(n: i32, t: (i32, Tree)) -> i32"))                          \
  _("declare of 'g': the type of the result is [Tree]: functions of the host have no data",        \
    hia_build_declare_extern(m.b, "g", NULL, 0, m.trees, false))                                   \
  _("in 'f': data: the constructor is no constructor",                                             \
    hia_build_data(m.b, (hia_build_ctor){0}, NULL, 0))                                             \
  _("in 'f': data: the constructor is no constructor",                                             \
    hia_build_data(m.b, (hia_build_ctor){m.leaf.id + 50}, NULL, 0))                                \
  _("in 'f': data: the constructor is another builder's",                                          \
    hia_build_data(m.b, m.foreign_leaf, &m.n, 1))                                                  \
  _("in 'f': data of 'Leaf': 0 fields instead of 1", hia_build_data(m.b, m.leaf, NULL, 0))         \
  _("in 'f': data of 'Node': no fields", hia_build_data(m.b, m.node, NULL, 2))                     \
  _("in 'f': data of 'Node': field 2 is of type i64, not Tree",                                    \
    hia_build_data(m.b, m.node, VALUES(m.t, m.n), 2))                                              \
  _("in 'f': add: operand 1 is of type Tree, not i32, i64, f32 or f64",                            \
    hia_build_add(m.b, m.t, m.t))                                                                  \
  _("in 'f': eq: operand 1 is of type Tree, not a scalar", hia_build_eq(m.b, m.t, m.t))            \
  _("in 'f': select: operand 2 is of type Tree, not a scalar",                                     \
    hia_build_select(m.b, hia_build_bool(m.b, true), m.t, m.t))                                    \
  _("in 'f': convert: the value is of type Tree, not a scalar",                                    \
    hia_build_convert(m.b, HIA_I32, m.t))                                                          \
  _("in 'f': part: the value is of type Tree, no tuple", hia_build_part(m.b, m.t, 0))              \
  _("in 'f': part: the value is of type [Tree], no tuple", hia_build_part(m.b, m.a, 0))            \
  _("in 'f': return: the result is of type Tree, not i64", hia_build_return(m.b, m.t))             \
  _("in 'f': pattern of 'Node': 1 field instead of 2",                                             \
    hia_build_pattern_ctor(m.b, m.node, &m.any, 1))                                                \
  _("in 'f': pattern of 'Node': no fields", hia_build_pattern_ctor(m.b, m.node, NULL, 2))          \
  _("in 'f': pattern of 'Leaf': field 1 is of type i64, and the pattern is for Tree",              \
    hia_build_pattern_ctor(m.b, m.leaf, &m.is_leaf, 1))                                            \
  _("in 'f': pattern of 'Leaf': field 1 is no pattern",                                            \
    hia_build_pattern_ctor(m.b, m.leaf, &(hia_build_pattern){0}, 1))                               \
  _("in 'f': pattern of 'Leaf': field 1 is another builder's",                                     \
    hia_build_pattern_ctor(m.b, m.leaf, &m.foreign_any, 1))                                        \
  _("in 'f': pattern: the constructor is no constructor",                                          \
    hia_build_pattern_ctor(m.b, (hia_build_ctor){0}, NULL, 0))                                     \
  _("in 'f': pattern: the value is no constant of a scalar", hia_build_pattern_const(m.b, m.n))    \
  _("in 'f': pattern: the constant is of type f64, not bool, i32 or i64",                          \
    hia_build_pattern_const(m.b, hia_build_f64(m.b, 1)))                                           \
  _("in 'f': pattern: the constant is no value", hia_build_pattern_const(m.b, (value){0}))         \
  _("in 'f': match: the subject is of type f32: a match works on data, integers and bool",         \
    MATCH(hia_build_f32(m.b, 1)))                                                                  \
  _("in 'f': match: the subject is of type [Tree]: a match works on", MATCH(m.a))                  \
  _("in 'f': match: the subject is of type (i64, Tree): a match works on", MATCH(m.p))             \
  _("in 'f': match: the subject is no value", MATCH((value){0}))                                   \
  _("in 'f': arm: there is no match between its arms here", ARM("_"))                              \
  _("in 'f': arm: there is no match between its arms here: an arm of a match must end first",      \
    (MATCH(m.t), ARM("Leaf(_)"), ARM("_")))                                                        \
  _("in 'f': arm: no pattern", (MATCH(m.t), ARM(NULL)))                                            \
  _("in 'f': arm: a pattern expected at the end", (MATCH(m.t), ARM("")))                           \
  _("in 'f': arm: a pattern expected at '15x'", (MATCH(m.n), ARM("15x")))                          \
  _("in 'f': arm: a pattern expected at '0x_'", (MATCH(m.n), ARM("0x_")))                          \
  _("in 'f': arm: nothing more expected at '.5'", (MATCH(m.n), ARM("1.5")))                        \
  _("in 'f': arm: nothing more expected at ')'", (MATCH(m.t), ARM("_)")))                          \
  _("in 'f': arm: there is no constructor 'Leave'", (MATCH(m.t), ARM("Leave(_)")))                 \
  _("in 'f': arm: 'Node' has 2 fields, and the pattern 1", (MATCH(m.t), ARM("Node(_)")))           \
  _("in 'f': arm: 'Node' has 2 fields, and the pattern 0", (MATCH(m.t), ARM("Node")))              \
  _("in 'f': arm: 'Leaf' has 1 field, and the pattern more", (MATCH(m.t), ARM("Leaf(_, _)")))      \
  _("in 'f': arm: ',' or ')' expected at '; _)'", (MATCH(m.t), ARM("Leaf(_; _)")))                 \
  _("in 'f': arm: field 1 of 'Leaf' is of type i64, and 'Leaf' is a pattern for Tree",             \
    (MATCH(m.t), ARM("Leaf(Leaf(_))")))                                                            \
  _("in 'f': arm: the subject is of type Tree, and '-3' is a pattern for integers",                \
    (MATCH(m.t), ARM("-3")))                                                                       \
  _("in 'f': arm: the subject is of type i64, and '3i32' is a pattern for i32",                    \
    (MATCH(m.n), ARM("3i32")))                                                                     \
  _("in 'f': arm: the subject is of type i64, and 'true' is a pattern for bool",                   \
    (MATCH(m.n), ARM("true")))                                                                     \
  _("in 'f': arm: '9223372036854775808' does not fit i64",                                         \
    (MATCH(m.n), ARM("9223372036854775808")))                                                      \
  _("in 'f': arm: two names in the pattern are called 'l'",                                        \
    (MATCH(m.t), hia_build_arm(m.b, "Node(l, l)", m.part, 2)))                                     \
  _("in 'f': arm: 'loop' is a keyword", (MATCH(m.t), hia_build_arm(m.b, "loop", m.part, 1)))       \
  _("in 'f': arm: the pattern binds 2 values, not 1",                                              \
    (MATCH(m.t), hia_build_arm(m.b, "Node(l, r)", m.part, 1)))                                     \
  _("in 'f': arm: the pattern binds 1 value, not 0", (MATCH(m.t), ARM("x")))                       \
  _("in 'f': arm: no place for the values that the pattern binds",                                 \
    (MATCH(m.t), hia_build_arm(m.b, "x", NULL, 1)))                                                \
  _("in 'f': arm of 'Node': 1 field instead of 2",                                                 \
    (MATCH(m.t), hia_build_arm_ctor(m.b, m.node, m.part, 1)))                                      \
  _("in 'f': arm of 'Node': no fields", (MATCH(m.t), hia_build_arm_ctor(m.b, m.node, NULL, 2)))    \
  _("in 'f': arm of 'Leaf': the subject is of type i64, and the pattern is for Tree",              \
    (MATCH(m.n), hia_build_arm_ctor(m.b, m.leaf, m.part, 1)))                                      \
  _("in 'f': arm: the constructor is another builder's",                                           \
    (MATCH(m.t), hia_build_arm_ctor(m.b, m.foreign_leaf, m.part, 1)))                              \
  _("in 'f': arm: there is no match between its arms here",                                        \
    hia_build_arm_ctor(m.b, m.leaf, m.part, 1))                                                    \
  _("in 'f': arm: the pattern is another builder's",                                               \
    (MATCH(m.t), hia_build_arm_pattern(m.b, m.foreign_any, NULL, 0)))                              \
  _("in 'f': arm: the pattern is no pattern",                                                      \
    (MATCH(m.t), hia_build_arm_pattern(m.b, (hia_build_pattern){m.any.id + 99}, NULL, 0)))         \
  _("in 'f': arm: the subject is of type i64, and the pattern is for Tree",                        \
    (MATCH(m.n), hia_build_arm_pattern(m.b, m.is_leaf, NULL, 0)))                                  \
  _("in 'f': add: a match is open: an arm must begin first",                                       \
    (MATCH(m.t), hia_build_add(m.b, m.n, m.n)))                                                    \
  _("in 'f': call: a match is open",                                                               \
    (MATCH(m.t), hia_build_call(m.b, m.f, VALUES(m.t, m.n, m.a), 3)))                              \
  _("in 'f': if: a match is open", (MATCH(m.t), ARM("Leaf(_)"), hia_build_end_arm(m.b, m.n),       \
                                    hia_build_if(m.b, hia_build_bool(m.b, true))))                 \
  _("in 'f': data of 'Leaf': a match is open", (MATCH(m.t), hia_build_data(m.b, m.leaf, &m.n, 1))) \
  _("in 'f': end of arm: there is no arm of a match here", hia_build_end_arm(m.b, m.n))            \
  _("in 'f': end of arm: there is no arm of a match here: a match must end first",                 \
    (MATCH(m.t), hia_build_end_arm(m.b, m.n)))                                                     \
  _("in 'f': end of arm: the value of arm 2 is of type Tree, not i64",                             \
    (MATCH(m.t), ARM("Leaf(_)"), hia_build_end_arm(m.b, m.n), ARM("_"),                            \
     hia_build_end_arm(m.b, m.t)))                                                                 \
  _("in 'f': end of arm: the value of arm 1 is no value",                                          \
    (MATCH(m.t), ARM("_"), hia_build_end_arm(m.b, (value){0})))                                    \
  _("in 'f': abs: operand 1 is out of scope: the block that it was made in has ended",             \
    (MATCH(m.t), hia_build_arm(m.b, "Leaf(x)", m.part, 1), hia_build_end_arm(m.b, m.part[0]),      \
     ARM("_"), hia_build_abs(m.b, m.part[0])))                                                     \
  _("in 'f': end of match: there is no match between its arms here", hia_build_end_match(m.b))     \
  _("in 'f': end of match: there is no match between its arms here: an arm of a match must end",   \
    (MATCH(m.t), ARM("_"), hia_build_end_match(m.b)))                                              \
  _("in 'f': end of match: the match has no arm", (MATCH(m.t), hia_build_end_match(m.b)))          \
  _("in 'f': return: a match is open still", (MATCH(m.t), hia_build_return(m.b, m.n)))             \
  _("in 'f': else: there is no 'if' without 'else' here: a match must end first",                  \
    (MATCH(m.t), hia_build_else(m.b, m.n)))                                                        \
  _("in 'f': end of match: the arms do not cover Node(_, Node(_, _)) (E0310)",                     \
    (MATCH(m.t), ARM("Leaf(_)"), hia_build_end_arm(m.b, m.n), ARM("Node(_, Leaf(_))"),             \
     hia_build_end_arm(m.b, m.n), hia_build_end_match(m.b)))                                       \
  _("in 'f': end of match: the arms do not cover every integer (E0310)",                           \
    (MATCH(m.n), ARM("1"), hia_build_end_arm(m.b, m.n), hia_build_end_match(m.b)))                 \
  _("in 'f': end of match: the arms do not cover false (E0310)",                                   \
    (MATCH(hia_build_bool(m.b, true)), ARM("true"), hia_build_end_arm(m.b, m.n),                   \
     hia_build_end_match(m.b)))                                                                    \
  _("in 'f': end of match: arm 2 cannot be reached: the arms before it take all that it takes "    \
    "(E0311)",                                                                                     \
    (MATCH(m.n), ARM("-5"), hia_build_end_arm(m.b, m.n), ARM("-5"), hia_build_end_arm(m.b, m.n),   \
     ARM("_"), hia_build_end_arm(m.b, m.n), hia_build_end_match(m.b)))                             \
  _("in 'f': end of match: arm 3 cannot be reached",                                               \
    (MATCH(m.t), ARM("Leaf(_)"), hia_build_end_arm(m.b, m.n), ARM("Node(_, _)"),                   \
     hia_build_end_arm(m.b, m.n), ARM("_"), hia_build_end_arm(m.b, m.n),                           \
     hia_build_end_match(m.b)))                                                                    \
  _("in 'f': array: no elements: hia_build_empty_array makes an array without elements",           \
    hia_build_array(m.b, NULL, 0))                                                                 \
  _("in 'f': array: no elements", hia_build_array(m.b, NULL, 1))                                   \
  _("in 'f': array: element 2 is of type [Tree], not Tree",                                        \
    hia_build_array(m.b, VALUES(m.t, m.a), 2))                                                     \
  _("in 'f': empty array: the type is Tree, no type of arrays",                                    \
    hia_build_empty_array(m.b, m.tree))                                                            \
  _("in 'f': empty array: the type is no type", hia_build_empty_array(m.b, 8))                     \
  _("in 'f': len: the array is of type Tree, no array", hia_build_len(m.b, m.t))                   \
  _("in 'f': len: the array is no value", hia_build_len(m.b, (value){0}))                          \
  _("in 'f': at: the array is of type i64, no array", hia_build_at(m.b, m.n, m.n))                 \
  _("in 'f': at: the index is of type Tree, not i32 or i64", hia_build_at(m.b, m.a, m.t))          \
  _("in 'f': slice: the array is of type Tree, no array", hia_build_slice(m.b, m.t, m.n, m.n))     \
  _("in 'f': slice: the start is of type Tree, not i32", hia_build_slice(m.b, m.a, m.t, m.n))      \
  _("in 'f': slice: the end is of type Tree, not i32", hia_build_slice(m.b, m.a, m.n, m.t))        \
  _("in 'f': set: the array is of type Tree, no array", hia_build_set(m.b, m.t, m.n, m.t))         \
  _("in 'f': set: the index is of type Tree", hia_build_set(m.b, m.a, m.t, m.t))                   \
  _("in 'f': set: the element is of type i64, not Tree", hia_build_set(m.b, m.a, m.n, m.n))        \
  _("in 'f': concat: 1 arrays instead of 2 or more", hia_build_concat(m.b, &m.a, 1))               \
  _("in 'f': concat: no arrays", hia_build_concat(m.b, NULL, 2))                                   \
  _("in 'f': concat: array 1 is of type Tree, no array",                                           \
    hia_build_concat(m.b, VALUES(m.t, m.a), 2))                                                    \
  _("in 'f': concat: array 2 is of type [(i64, Tree)], not [Tree]",                                \
    hia_build_concat(m.b, VALUES(m.a, hia_build_array(m.b, &m.p, 1)), 2))                          \
  _("in 'f': for each: the array is of type Tree, no array", hia_build_for_each(m.b, m.t))         \
  _("in 'f': for range: the start is of type Tree", hia_build_for_range(m.b, m.t, m.n))            \
  _("in 'f': for range: the end is of type i32, not i64",                                          \
    hia_build_for_range(m.b, m.n, hia_build_i32(m.b, 1)))                                          \
  _("in 'f': end of for: there is no comprehension here", hia_build_end_for(m.b, m.n))             \
  _("in 'f': end of for: the element is no value",                                                 \
    (hia_build_for_each(m.b, m.a), hia_build_end_for(m.b, (value){0})))                            \
  _("in 'f': return: a comprehension is open still",                                               \
    (hia_build_for_each(m.b, m.a), hia_build_return(m.b, m.n)))                                    \
  _("in 'f': end of if: there is no 'if' with its 'else' here: a comprehension must end first",    \
    (hia_build_for_each(m.b, m.a), hia_build_end_if(m.b, m.n)))                                    \
  _("in 'f': len: the array is out of scope: the block that it was made in has ended",             \
    (m.x = hia_build_for_each(m.b, hia_build_array(m.b, &m.a, 1)), hia_build_end_for(m.b, m.x),    \
     hia_build_len(m.b, m.x)))

static made make(world *w) {
  made m = {.b = w->b};
  cr_assert_eq(hia_builder_new(w->engine, NULL, &m.other, NULL), HIA_OK);
  m.foreign_tree = hia_build_declare_type(m.other, "Tree = Leaf(x: i64)");
  m.foreign_leaf = hia_build_find_ctor(m.other, "Leaf");
  m.foreign_any = hia_build_pattern_any(m.other);
  m.tree = hia_build_declare_type(m.b, "Tree = Leaf(x: i64) | Node(left: Tree, right: Tree)");
  m.later = hia_build_declare_type(m.b, "Later");
  m.trees = hia_build_array_type(m.b, m.tree);
  m.leaf = hia_build_find_ctor(m.b, "Leaf");
  m.node = hia_build_find_ctor(m.b, "Node");
  m.f = hia_build_declare(m.b, "f(t: Tree, n: i64, a: [Tree]) -> i64");
  hia_build_begin(m.b, m.f);
  m.t = hia_build_param(m.b, m.f, 0);
  m.n = hia_build_param(m.b, m.f, 1);
  m.a = hia_build_param(m.b, m.f, 2);
  m.p = hia_build_tuple(m.b, VALUES(m.n, m.t), 2);
  m.any = hia_build_pattern_any(m.b);
  m.is_leaf = hia_build_pattern_ctor(m.b, m.leaf, &m.any, 1);
  if (hia_builder_status(m.b) != HIA_OK)
    cr_assert_fail("%s", hia_error_text(hia_builder_error(m.b)));
  return m;
}

static void expect_mistake(made m, const char *expected) {
  cr_expect_eq(hia_builder_status(m.b), HIA_ARGUMENT, "nothing wrong: %s", expected);
  const char *told = hia_error_message(hia_builder_error(m.b), 0);
  cr_expect_not_null(strstr(told, expected), "%s\ninstead of\n%s", told, expected);
  /* Further calls do nothing. */
  value bound[1] = {m.x};
  cr_expect_eq(hia_build_arm(m.b, "x", bound, 1), HIA_ARGUMENT);
  cr_expect_eq(bound[0].id, 0u);
  cr_expect_eq(hia_build_data(m.b, m.leaf, &m.n, 1).id, 0u);
  cr_expect_eq(hia_build_pattern_any(m.b).id, 0u);
  cr_expect_eq(hia_build_find_ctor(m.b, "Leaf").id, 0u);
  cr_expect_eq(hia_build_declare_type(m.b, "Z"), HIA_BUILD_NO_TYPE);
  cr_expect_eq(hia_build_end_arm(m.b, m.n), HIA_ARGUMENT);
  hia_builder_free(m.other);
}

Test(builder_data, mistakes_are_told){
#define TRY(message, ...)                                                                          \
  {                                                                                                \
    world w = open_world();                                                                        \
    made m = make(&w);                                                                             \
    (void)(__VA_ARGS__);                                                                           \
    expect_mistake(m, message);                                                                    \
    const char *text = print(&w);                                                                  \
    cr_expect_not_null(strstr(text, "# fn f(t: Tree, n: i64, a: [Tree]) -> i64 = {"), "%s", text); \
    close_world(&w);                                                                               \
  }
    MISTAKES(TRY)}

/* What shows only in the whole program. */
Test(builder_data, what_is_not_complete_does_not_finish) {
  world w = open_world();
  hia_error *error;
  hia_build_declare_type(w.b, "T");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_message(error, 0), "the type 'T' has no constructors");
  hia_error_free(error);
  expect_text(&w, "# type T is not defined\n");
  hia_build_declare_type(w.b, "T = A(t: (i32, T))");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0320");
  hia_error_free(error);
  cr_assert_eq(hia_builder_status(w.b), HIA_OK); /* it goes on */
  hia_build_add_ctor(w.b, hia_build_read_type(w.b, "T"), "B", NULL, 0);
  hia_build_fn f = hia_build_declare(w.b, "f(t: T) -> i32");
  hia_build_begin(w.b, f);
  hia_build_match(w.b, hia_build_param(w.b, f, 0));
  hia_build_arm(w.b, "A(x)", &(value){0}, 1);
  hia_build_end_arm(w.b, hia_build_i32(w.b, 1));
  expect_text(&w, "type T = A(t: (i32, T)) | B\n"
                  "\n"
                  "# fn f(t: T) -> i32 = {\n"
                  "#   let _: i32 = match t {\n"
                  "#     A(x) => 1,\n"
                  "# is not at its end\n");
  hia_build_arm(w.b, "B", NULL, 0);
  hia_build_end_arm(w.b, hia_build_i32(w.b, 2));
  hia_build_return(w.b, hia_build_end_match(w.b));
  finish(&w);
  hia_function *function;
  hia_value *arg;
  cr_assert_eq(hia_module_function(w.module, "f", &function, NULL), HIA_OK);
  cr_assert_eq(hia_value_parse(function, 0, "A((1, B))", &arg, NULL), HIA_OK);
  cr_assert_str_eq(run(&w, "f", arg), "1");
  close_world(&w);
}

/* A constructor would change what a match covers. */
Test(builder_data, constructors_come_before_patterns) {
  for (int way = 0; way < 3; way++) {
    world w = open_world();
    hia_build_type type = hia_build_declare_type(w.b, "T = A | B(n: i32)");
    hia_build_add_ctor(w.b, type, "C", NULL, 0);
    hia_build_fn f = hia_build_declare(w.b, "f(t: T, n: i32) -> T");
    hia_build_begin(w.b, f);
    if (way == 0) hia_build_match(w.b, hia_build_param(w.b, f, 0));
    if (way == 1) hia_build_pattern_ctor(w.b, hia_build_find_ctor(w.b, "A"), NULL, 0);
    if (way == 2) hia_build_data(w.b, hia_build_find_ctor(w.b, "A"), NULL, 0);
    hia_build_add_ctor(w.b, type, "D", NULL, 0);
    const hia_error *e = hia_builder_error(w.b);
    cr_assert_eq(e == NULL, way == 2);
    if (e)
      cr_assert(strstr(hia_error_message(e, 0),
                       "constructor of 'D': 'D' comes too late: patterns rely on the constructors "
                       "of 'T'"),
                "%s", hia_error_message(e, 0));
    close_world(&w);
  }
}

/* Patterns share their parts: a few dozen can stand for 2^40. */
Test(builder_data, patterns_have_a_size_and_a_depth) {
  world w = open_world();
  hia_build_declare_type(w.b, "T = A | B(l: T, r: T)");
  hia_build_ctor a = hia_build_find_ctor(w.b, "A"), both = hia_build_find_ctor(w.b, "B");
  hia_build_pattern part[2] = {hia_build_pattern_ctor(w.b, a, NULL, 0)};
  for (int i = 0; i < 40 && part[0].id; i++) {
    part[1] = part[0];
    part[0] = hia_build_pattern_ctor(w.b, both, part, 2);
  }
  cr_assert_str_eq(hia_error_message(hia_builder_error(w.b), 0),
                   "pattern of 'B': a pattern of more than 100000 patterns");
  close_world(&w);

  w = open_world();
  hia_build_declare_type(w.b, "T = A | B(l: T)");
  both = hia_build_find_ctor(w.b, "B");
  part[0] = hia_build_pattern_any(w.b);
  for (int i = 0; i < HIA_BUILD_MAX_PATTERN_DEPTH && part[0].id; i++)
    part[0] = hia_build_pattern_ctor(w.b, both, part, 1);
  cr_assert_str_eq(hia_error_message(hia_builder_error(w.b), 0),
                   "pattern of 'B': patterns nest more than 100 deep");
  close_world(&w);

  w = open_world();
  hia_build_declare_type(w.b, "T = A | B(l: T)");
  hia_build_fn f = hia_build_declare(w.b, "f(t: T) -> i32");
  hia_build_begin(w.b, f);
  hia_build_match(w.b, hia_build_param(w.b, f, 0));
  char text[4000] = "";
  for (int i = 0; i < 1000; i++) strcat(text, "B(");
  hia_build_arm(w.b, text, NULL, 0);
  cr_assert_str_eq(hia_error_message(hia_builder_error(w.b), 0),
                   "in 'f': arm: patterns nest more than 100 deep");
  close_world(&w);
}

Test(builder_data, types_have_a_size) {
  static const char *const wrong[] = {"the type has more than 1000 scalars, data and arrays in it",
                                      "'B' have more than 1000 scalars, data and arrays in them"};
  world w = open_world();
  hia_build_type type = hia_build_declare_type(w.b, "T = A");
  for (int i = 0; i < 999; i++) type = hia_build_array_type(w.b, type);
  cr_assert_eq(hia_builder_status(w.b), HIA_OK);
  cr_assert_eq(hia_build_array_type(w.b, type), HIA_BUILD_NO_TYPE);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), wrong[0]));
  close_world(&w);

  for (int n = 1000; n <= 1001; n++) {
    w = open_world();
    type = hia_build_declare_type(w.b, "T = A");
    hia_build_type parts[500];
    for (int i = 0; i < 500; i++) parts[i] = i % 2 ? type : HIA_F32;
    const hia_build_type half = hia_build_tuple_type(w.b, parts, 500);
    const hia_build_field fields[] = {{NULL, half}, {NULL, half}, {NULL, HIA_I32}};
    hia_build_add_ctor(w.b, type, "B", fields, n == 1000 ? 2 : 3);
    if (n == 1000)
      cr_assert_eq(hia_builder_status(w.b), HIA_OK);
    else
      cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), wrong[1]), "%s",
                hia_error_message(hia_builder_error(w.b), 0));
    close_world(&w);
  }
}

/* Texts of tokens in any order, and ids of anything: each is taken, or is a mistake. */
Test(builder_data, garbage) {
  static const char *const tokens[] = {"T",  "A", "B",  "(",   ")",  "[",    "]", "|",
                                       "=",  ":", ",",  "_",   "-",  "x",    "0", "0x1f",
                                       "99", " ", "->", "i64", "fn", "true", "#", "\xff"};
  uint64_t state = 7;
  uint32_t n_taken = 0, n_wrong = 0;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  for (int round = 0; round < 20000; round++) {
    world w = {.engine = engine};
    char text[200] = "";
    uint64_t n = 1 + next_random(&state) % 9;
    for (uint64_t i = 0; i < n; i++) strcat(text, tokens[next_random(&state) % 24]);
    cr_assert_eq(hia_builder_new(engine, NULL, &w.b, NULL), HIA_OK);
    hia_build_type type = hia_build_declare_type(w.b, "T = A | B(x: i64, t: T)");
    hia_build_fn f = hia_build_declare(w.b, "f(t: T, n: i64) -> i64");
    hia_build_begin(w.b, f);
    uint64_t any = next_random(&state), id = any % 5 ? type / 256 * 256 + any % 24 : any;
    value bound[4];
    size_t n_bound = next_random(&state) % 3;
    switch (round % 10) {
    case 0: hia_build_declare_type(w.b, text); break;
    case 1: hia_build_read_type(w.b, text); break;
    case 2: hia_build_declare(w.b, text); break;
    case 3: hia_build_find_ctor(w.b, text); break;
    case 4:
    case 5:
      hia_build_match(w.b, hia_build_param(w.b, f, any % 2));
      hia_build_arm(w.b, text, bound, n_bound);
      break;
    case 6: hia_build_add_ctor(w.b, id, text, NULL, 0); break;
    case 7:
      hia_build_match(w.b, hia_build_param(w.b, f, 0));
      hia_build_arm_ctor(w.b, (hia_build_ctor){id}, bound, n_bound);
      break;
    case 8: {
      hia_build_pattern p[2] = {{hia_build_pattern_any(w.b).id}, {id}};
      hia_build_match(w.b, hia_build_param(w.b, f, 0));
      p[0] = hia_build_pattern_ctor(w.b, hia_build_find_ctor(w.b, "B"), p, 2);
      hia_build_arm_pattern(w.b, p[0], bound, n_bound);
      break;
    }
    default: hia_build_data(w.b, (hia_build_ctor){id}, &(value){any}, n_bound);
    }
    hia_status status = hia_builder_status(w.b);
    cr_assert(status == HIA_OK || status == HIA_ARGUMENT, "%s", text);
    *(status == HIA_OK ? &n_taken : &n_wrong) += 1;
    print(&w);
    test_text_free(&w.text);
    hia_builder_free(w.b);
  }
  hia_engine_free(engine);
  cr_assert(n_taken > 100 && n_wrong > 10000, "%u taken, %u wrong", n_taken, n_wrong);
}
