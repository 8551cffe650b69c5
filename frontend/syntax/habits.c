/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Words of other languages, and what to write in hiaton instead. */
#include "frontend/syntax/habits.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

typedef struct habit {
  unsigned usages; /* HIA_HABIT_ */
  const char *word, *hint;
} habit;

#define ITEM  HIA_HABIT_ITEM
#define START HIA_HABIT_START
#define INFIX HIA_HABIT_INFIX
#define VALUE HIA_HABIT_VALUE
#define CALL  HIA_HABIT_CALL

#define A_FUNCTION  "a function is written: fn f(x) = x + 1"
#define A_CONSTANT  "a constant of the file is written: const NAME = 1"
#define A_VARIABLE  "a name is made by 'let', at the start of a block: { let x = 1; x + 2 }"
#define A_LOOP      "a loop is written: loop (i = 0) while i < n { i + 1 }"
#define NO_MODULES  "a program is one file: there are no modules"
#define A_DATA_TYPE "a data type is written: type Name = A | B(x: i32)"
#define NO_EMPTY    "there is no empty value: return a bool beside the value, (false, 0)"
#define NO_FUNCTION "functions are no values: define one with 'fn', and call it by its name"
#define NO_MODIFIER "leave it out: every function of the file can be called from outside"
#define NO_PRINT    "only the result is printed: return the values to print"
#define A_FAILURE   "fail(n) ends the run with an error that carries n"
#define A_MATCH     "write: match n { 0 => x, _ => y }"

static const habit habits[] = {
    {ITEM, "def", A_FUNCTION},
    {ITEM, "function", A_FUNCTION},
    {ITEM, "func", A_FUNCTION},
    {ITEM, "fun", A_FUNCTION},
    {ITEM, "define", A_FUNCTION},
    {ITEM, "defn", A_FUNCTION},
    {ITEM, "proc", A_FUNCTION},
    {ITEM, "sub", A_FUNCTION},
    {ITEM, "void", A_FUNCTION},
    {ITEM | START, "int", NULL},
    {ITEM | START, "long", NULL},
    {ITEM | START, "float", NULL},
    {ITEM | START, "double", NULL},
    {ITEM | START, "char", NULL},
    {ITEM | START, "unsigned", NULL},
    {ITEM | START, "auto", NULL},
    {ITEM | START, "var", NULL},
    {ITEM | START, "val", NULL},
    {ITEM | START, "static", NULL},
    {START, "mut", "a variable never changes: 'let' makes another one of the same name"},
    {ITEM, "pub", NO_MODIFIER},
    {ITEM, "public", NO_MODIFIER},
    {ITEM, "private", NO_MODIFIER},
    {ITEM, "export", NO_MODIFIER},
    {ITEM, "inline", NO_MODIFIER},
    {ITEM, "import", NO_MODULES},
    {ITEM, "from", NO_MODULES},
    {ITEM, "use", NO_MODULES},
    {ITEM, "using", NO_MODULES},
    {ITEM, "include", NO_MODULES},
    {ITEM, "module", NO_MODULES},
    {ITEM, "package", NO_MODULES},
    {ITEM, "namespace", NO_MODULES},
    {ITEM, "mod", NO_MODULES},
    {ITEM, "open", NO_MODULES},
    {ITEM, "class", A_DATA_TYPE},
    {ITEM, "struct", A_DATA_TYPE},
    {ITEM, "enum", A_DATA_TYPE},
    {ITEM, "union", A_DATA_TYPE},
    {ITEM, "typedef", A_DATA_TYPE},
    {ITEM, "data", A_DATA_TYPE},
    {ITEM, "newtype", A_DATA_TYPE},
    {ITEM, "trait", A_DATA_TYPE},
    {ITEM, "impl", A_DATA_TYPE},
    {ITEM, "interface", A_DATA_TYPE},
    {ITEM | START | VALUE | CALL, "return", "leave it out: the value of a function is its body"},
    {START | INFIX | VALUE, "elif", "write 'else if'"},
    {START | INFIX | VALUE, "elsif", "write 'else if'"},
    {START | INFIX | VALUE, "elseif", "write 'else if'"},
    {START, "lambda", NO_FUNCTION},
    {START, "function", NO_FUNCTION},
    {START, "def", NO_FUNCTION},
    {START, "func", NO_FUNCTION},
    {START, "fun", NO_FUNCTION},
    {START | CALL, "switch", A_MATCH},
    {START | CALL, "case", A_MATCH},
    {START, "do", A_LOOP},
    {START, "repeat", A_LOOP},
    {START | VALUE, "break", "a loop ends when its condition is false"},
    {START | VALUE, "continue", "each round of a loop ends with the next values of its variables"},
    {START | CALL, "throw", A_FAILURE},
    {START | CALL, "raise", A_FAILURE},
    {CALL, "panic", A_FAILURE},
    {CALL, "error", A_FAILURE},
    {CALL, "exit", A_FAILURE},
    {CALL, "abort", A_FAILURE},
    {START | CALL, "assert", "write: if c then x else fail(1)"},
    {START | CALL, "print", NO_PRINT},
    {CALL, "println", NO_PRINT},
    {CALL, "printf", NO_PRINT},
    {CALL, "putStrLn", NO_PRINT},
    {INFIX, "where", "names are made before they are used: { let x = 1; x + 2 }"},
    {INFIX, "as", "a conversion is written like a call: f64(x)"},
    {INFIX, "is", "write '=='"},
    {INFIX, "mod", "write '%'"},
    {INFIX, "rem", "write '%'"},
    {INFIX, "div", "write '/'"},
    {INFIX, "xor", "write bxor(a, b); of two bools: a != b"},
    {INFIX, "unless", "write: if c then x else y"},
    {VALUE, "True", "did you mean 'true'?"},
    {VALUE, "TRUE", "did you mean 'true'?"},
    {VALUE, "False", "did you mean 'false'?"},
    {VALUE, "FALSE", "did you mean 'false'?"},
    {VALUE, "None", NO_EMPTY},
    {VALUE, "null", NO_EMPTY},
    {VALUE, "NULL", NO_EMPTY},
    {VALUE, "nullptr", NO_EMPTY},
    {VALUE, "nil", NO_EMPTY},
    {VALUE, "Nothing", NO_EMPTY},
    {VALUE, "undefined", NO_EMPTY},
    {VALUE, "Infinity", "write 1.0 / 0.0"},
    {VALUE, "INFINITY", "write 1.0 / 0.0"},
    {VALUE, "infinity", "write 1.0 / 0.0"},
    {VALUE, "Inf", "write 1.0 / 0.0"},
    {VALUE, "inf", "write 1.0 / 0.0"},
    {VALUE, "NaN", "write 0.0 / 0.0"},
    {VALUE, "NAN", "write 0.0 / 0.0"},
    {VALUE, "nan", "write 0.0 / 0.0"},
    {VALUE, "pi", "write 3.141592653589793"},
    {VALUE, "PI", "write 3.141592653589793"},
    {VALUE, "M_PI", "write 3.141592653589793"},
    {CALL, "mod", "write a % b"},
    {CALL, "fmod", "write a % b"},
    {CALL, "div", "write a / b"},
    {CALL, "sqr", "write x * x"},
    {CALL, "square", "write x * x"},
    {CALL, "range", A_LOOP},
    {CALL, "int", "write i32(x)"},
    {CALL, "long", "write i64(x)"},
    {CALL, "float", "write f32(x), or f64(x)"},
    {CALL, "double", "write f64(x)"},
    {CALL, "lambda", NO_FUNCTION},
    {CALL, "not", "write 'not x'"},
};

/* Functions of other languages that hiaton has under another name. */
static const char *const aliases[][2] = {
    {"fabs", "abs"},          {"fabsf", "abs"},
    {"sqrtf", "sqrt"},        {"fmin", "min"},
    {"fmax", "max"},          {"minimum", "min"},
    {"maximum", "max"},       {"ln", "log"},
    {"power", "pow"},         {"powf", "pow"},
    {"powi", "pow"},          {"ceiling", "ceil"},
    {"rint", "round"},        {"nearbyint", "round"},
    {"arcsin", "asin"},       {"arccos", "acos"},
    {"arctan", "atan"},       {"arctan2", "atan2"},
    {"isNaN", "isnan"},       {"is_nan", "isnan"},
    {"isNan", "isnan"},       {"is_inf", "isinf"},
    {"lshift", "shl"},        {"rshift", "shr"},
    {"shiftL", "shl"},        {"shiftR", "shr"},
    {"bit_and", "band"},      {"bit_or", "bor"},
    {"bit_xor", "bxor"},      {"xor", "bxor"},
    {"bitcount", "popcount"}, {"count_ones", "popcount"},
    {"popCount", "popcount"}, {"mul_add", "fma"},
    {"logistic", "sigmoid"},  {"length", "len"},
    {"size", "len"},          {"append", "concat"},
    {"gradient", "grad"},     {"derivative", "grad"},
    {"autograd", "grad"},     {"value_and_gradient", "value_and_grad"},
};

const char *hiaF_habit(const hia_program *p, const char *word, unsigned usage) {
  for (size_t i = 0; i < HIA_LEN(habits); i++) {
    if (!(habits[i].usages & usage) || strcmp(habits[i].word, word) != 0) continue;
    if (habits[i].hint != NULL) return habits[i].hint;
    return usage == ITEM ? A_CONSTANT : A_VARIABLE;
  }
  for (size_t i = 0; usage == CALL && i < HIA_LEN(aliases); i++) {
    const char *name = aliases[i][1];
    if (strcmp(aliases[i][0], word) == 0 &&
        hiaF_builtin(name, (uint32_t)strlen(name)) != HIA_OP_LIMIT)
      return hiaR_arena_printf(p->arena, "did you mean '%s'?", name);
  }
  return NULL;
}

bool hiaF_is_let_word(const char *word) {
  for (size_t i = 0; i < HIA_LEN(habits); i++)
    if (habits[i].hint == NULL && strcmp(habits[i].word, word) == 0) return true;
  return false;
}
