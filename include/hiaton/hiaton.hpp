// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// hiaton from C++17: owning handles, and calls with C++'s types. Header-only, over hiaton.h.
//
//   #include <hiaton/hiaton.hpp>
//   #include <cstdio>
//
//   int main() {
//     hiaton::engine engine = hiaton::engine::make().value();
//     hiaton::module module = engine.load_text("fib.hia",
//         "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)").value();
//     hiaton::function fib = module.function("fib").value();
//     std::printf("%d\n", fib.call<std::int32_t>(engine, 20).value());
//
//     auto entry = fib.entry<std::int32_t(std::int32_t)>().value(); // checked against fib's types
//     hiaton::context context = hiaton::context::make(engine).value();
//     return entry(context, 20).value() == 10946 ? 0 : 1;
//   }
//
// Results. A function that can fail returns a result<T>, which holds a T or an error. A host tests
// it (`if (r) use(*r); else log(r.error().text())`), or calls value(), which throws
// hiaton::failure. Nothing else here throws, except std::bad_alloc of std::string and std::vector.
// Without exceptions (-fno-exceptions) value() of an error prints it to standard error and calls
// std::abort.
//
// Types. bool, i32, i64, f32 and f64 are bool, std::int32_t, std::int64_t, float and double; a
// tuple is a std::tuple of two parts or more; an array of tuples or arrays is a std::vector, which
// is copied; data, and any array, is a `value`. A tensor is a tensor_view<T, rank> as a parameter,
// and a tensor<T, rank> as a result; of rank 1 both may be a std::vector<T>. Others do not compile.
//
// Ownership. engine, module, value, nodes, vocab, context, error, timeline, cancel and builder own
// the object that get() returns; they can be moved but not copied. After a move the source is
// empty. `function` and the entries are pointers into their module and can be copied. The lifetimes
// are those of hiaton.h: engines outlive their modules, builders, values and contexts, modules
// their functions. Members and variables that are declared in this order are destroyed in the right
// order.
//
// Threads. As in hiaton.h: any thread may use any object, except that contexts and builders serve
// one thread at a time, and no thread may move or destroy an object that another thread uses.
#ifndef HIATON_HPP
#define HIATON_HPP

#include <hiaton/hiaton.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hiaton {

// ---- owners ----

template <class T, void (*Free)(T *)> class owner {
public:
  owner() noexcept = default; // empty
  explicit owner(T *owned) noexcept : at_(owned) {}
  T *get() const noexcept { return at_.get(); }
  T *release() noexcept { return at_.release(); } // the caller frees it
  explicit operator bool() const noexcept { return at_ != nullptr; }

private:
  struct deleter {
    void operator()(T *at) const noexcept { Free(at); }
  };
  std::unique_ptr<T, deleter> at_;
};

// ---- errors and results ----

// A status other than HIA_OK, with its hia_error. get() is NULL if there was no memory for that.
// The hia_error of a typed entry belongs to its context, and lives until the context's next call
// begins.
class error : public owner<hia_error, hia_error_free> {
public:
  error(hia_status status, hia_error *owned) noexcept
      : owner(owned), said_(owned), status_(status) {}
  static error of_context(hia_status status, hia_context *context) noexcept {
    error e(status, nullptr);
    e.said_ = status == HIA_BUSY ? nullptr : hia_context_error(context);
    return e;
  }
  hia_status status() const noexcept { return status_; }
  // The whole error as text for people, with a line end.
  const char *text() const noexcept {
    return said_ != nullptr ? hia_error_text(said_) : hia_status_message(status_);
  }
  std::size_t count() const noexcept { return hia_error_count(said_); }
  const char *code(std::size_t i = 0) const noexcept { return hia_error_code(said_, i); }
  const char *message(std::size_t i = 0) const noexcept {
    return said_ != nullptr ? hia_error_message(said_, i) : hia_status_message(status_);
  }
  const char *hint(std::size_t i = 0) const noexcept { return hia_error_hint(said_, i); }
  const char *file(std::size_t i = 0) const noexcept { return hia_error_file(said_, i); }
  std::uint32_t line(std::size_t i = 0) const noexcept { return hia_error_line(said_, i); }
  std::uint32_t col(std::size_t i = 0) const noexcept { return hia_error_col(said_, i); }
  std::int64_t fail_code() const noexcept { return hia_error_fail_code(said_); }
  const hia_error *said() const noexcept { return said_; } // for the other functions of runtime.h

private:
  const hia_error *said_;
  hia_status status_;
};

#if defined(__cpp_exceptions)
// The exception that value() throws. It keeps a copy of the text.
class failure : public std::exception {
public:
  explicit failure(const error &e)
      : text_(std::make_shared<const std::string>(e.text())), fail_code_(e.fail_code()),
        status_(e.status()) {}
  const char *what() const noexcept override { return text_->c_str(); }
  hia_status status() const noexcept { return status_; }
  std::int64_t fail_code() const noexcept { return fail_code_; }

private:
  std::shared_ptr<const std::string> text_;
  std::int64_t fail_code_;
  hia_status status_;
};
#endif

namespace detail {
[[noreturn]] inline void fail(const error &e) {
#if defined(__cpp_exceptions)
  throw failure(e);
#else
  std::fputs(e.text(), stderr);
  std::abort();
#endif
}
} // namespace detail

// A T or an error. `*r` and `r->` require a T, error() requires an error.
template <class T> class [[nodiscard]] result {
public:
  result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  result(hiaton::error error) noexcept : held_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const noexcept { return held_.index() == 0; }
  hia_status status() const noexcept { return *this ? HIA_OK : error().status(); }
  T &value() & { return check(), **this; }
  const T &value() const & { return check(), **this; }
  T value() && { return check(), std::move(**this); }
  T &operator*() noexcept { return *std::get_if<0>(&held_); }
  const T &operator*() const noexcept { return *std::get_if<0>(&held_); }
  T *operator->() noexcept { return std::get_if<0>(&held_); }
  const T *operator->() const noexcept { return std::get_if<0>(&held_); }
  const hiaton::error &error() const noexcept { return *std::get_if<1>(&held_); }
  hiaton::error &error() noexcept { return *std::get_if<1>(&held_); } // to be moved from

private:
  void check() const {
    if (!*this) detail::fail(error());
  }
  std::variant<T, hiaton::error> held_;
};

template <> class [[nodiscard]] result<void> {
public:
  result() noexcept : error_(HIA_OK, nullptr) {}
  result(hiaton::error error) noexcept : error_(std::move(error)) {}
  explicit operator bool() const noexcept { return error_.status() == HIA_OK; }
  hia_status status() const noexcept { return error_.status(); }
  void value() const {
    if (!*this) detail::fail(error_);
  }
  const hiaton::error &error() const noexcept { return error_; }
  hiaton::error &error() noexcept { return error_; }

private:
  hiaton::error error_;
};

// ---- C++'s types and hiaton's ----

class value;

// A tensor of rank N whose elements somebody else has, in row-major order. It is what C has as
// hia_f32_2 (tensors.h), and passed as such.
template <class T, std::size_t N> struct tensor_view {
  const T *elements = nullptr;
  std::int64_t dims[N] = {};

  std::size_t size() const noexcept { // the number of elements
    std::size_t n = 1;
    for (std::int64_t dim : dims) n *= std::size_t(dim);
    return n;
  }
  const T *data() const noexcept { return elements; }
  const T *begin() const noexcept { return elements; }
  const T *end() const noexcept { return elements + size(); }
  const T &operator[](std::size_t i) const noexcept { return elements[i]; } // in row-major order
};

template <class T, std::size_t N> class tensor; // below: one that owns its elements

namespace detail {

template <class T> inline constexpr bool is_false = false;

using value_owner = owner<hia_value, hia_value_free>;

// The nodes of an array that is made of vectors (hia_value_nodes).
struct table {
  std::vector<const hia_type_info *> types;
  std::vector<hia_value_node> nodes;
  std::vector<std::int64_t> words;

  // Returns the node's number.
  std::int64_t add(const hia_type_info *type, std::size_t n,
                   const std::vector<std::int64_t> &elements) {
    std::size_t i = 0;
    while (i < types.size() && types[i] != type) i++;
    if (i == types.size()) types.push_back(type);
    nodes.push_back({std::uint32_t(i), 0, n});
    words.insert(words.end(), elements.begin(), elements.end());
    return std::int64_t(nodes.size() - 1);
  }
  hia_value_nodes view() const {
    hia_value_nodes all = HIA_VALUE_NODES_INIT;
    all.types = types.data();
    all.n_types = types.size();
    all.nodes = nodes.data();
    all.n_nodes = nodes.size();
    all.words = words.data();
    all.n_words = words.size();
    return all;
  }
};

// How many words a value of the type has in a table.
inline std::size_t words_of(const hia_type_info *type) noexcept {
  std::size_t sum = 0;
  if (hia_type_info_kind(type) != HIA_KIND_TUPLE) return 1;
  for (std::size_t i = 0; i < hia_type_info_len(type); i++)
    sum += words_of(hia_type_info_part(type, i));
  return sum;
}

// The table of an array of arrays: the first word of each node.
struct rows {
  explicit rows(const hia_value_nodes &all) : table(all) {
    std::size_t at = 0;
    first.reserve(all.n_nodes);
    for (std::size_t i = 0; i < all.n_nodes; i++) {
      const hia_type_info *type = all.types[all.nodes[i].type];
      first.push_back(at);
      at += hia_type_info_rank(type) + // the sizes of a tensor
            std::size_t(all.nodes[i].n) * words_of(hia_type_info_element(type));
    }
  }
  const hia_value_nodes &table;
  std::vector<std::size_t> first;
};

// An argument of hia_run: a value that the caller has, or one that was made for the call.
struct given {
  value_owner made;
  hia_value *at;
};
inline given give(hia_value *made) noexcept { return {value_owner(made), made}; }

// A type as hiaton writes it. `flat` are its parameters in an entry, `out` its results, and `held`
// is what a call keeps while the callee has the parameters. `dtypes` and `out_dtypes` are those of
// inspect.h. Whether it is the type `info`: is(info), and of a parameter of an entry
// is_param(info).
template <class T> struct type {
  static_assert(is_false<T>, "hiaton has bool, std::int32_t, std::int64_t, float, double, "
                             "std::tuple of two or more of its types, std::vector of them, "
                             "hiaton::tensor_view, hiaton::tensor and hiaton::value");
};

template <class T, hia_dtype of> struct scalar {
  using flat = std::tuple<T>;
  using out = flat;
  using held = T;
  static constexpr bool has_arrays = false, has_values = false;
  static constexpr std::array<hia_dtype, 1> dtypes{of}, out_dtypes{of};
  static bool is(const hia_type_info *info) noexcept {
    hia_dtype found;
    return hia_type_info_dtype(info, &found) == HIA_OK && found == of;
  }
  static bool is_param(const hia_type_info *info) noexcept { return is(info); }
  static held hold(const hia_type_info *, T x) noexcept { return x; }
  static bool is_held(T) noexcept { return true; }
  static flat flatten(T x) noexcept { return flat(x); }
  template <std::size_t at, class Out> static hia_status gather(Out &all, T *x) noexcept {
    *x = std::get<at>(all);
    return HIA_OK;
  }
};
template <> struct type<bool> : scalar<bool, HIA_BOOL> {
  static constexpr const char *name = "bool";
  static given make(hia_engine *engine, const hia_type_info *, bool x) {
    return give(hia_value_bool(engine, x));
  }
  static hia_status read(const hia_value *from, bool *x) { return hia_value_get_bool(from, x); }
  static void put(table &, const hia_type_info *, bool x, std::vector<std::int64_t> &to) {
    to.push_back(x);
  }
  static void get(const rows &, const std::int64_t **at, bool *x) noexcept { *x = *(*at)++ != 0; }
};
template <> struct type<std::int32_t> : scalar<std::int32_t, HIA_I32> {
  static constexpr const char *name = "i32";
  static given make(hia_engine *engine, const hia_type_info *, std::int32_t x) {
    return give(hia_value_i32(engine, x));
  }
  static hia_status read(const hia_value *from, std::int32_t *x) {
    return hia_value_get_i32(from, x);
  }
  static void put(table &, const hia_type_info *, std::int32_t x, std::vector<std::int64_t> &to) {
    to.push_back(x);
  }
  static void get(const rows &, const std::int64_t **at, std::int32_t *x) noexcept {
    *x = std::int32_t(*(*at)++);
  }
};
template <> struct type<std::int64_t> : scalar<std::int64_t, HIA_I64> {
  static constexpr const char *name = "i64";
  static given make(hia_engine *engine, const hia_type_info *, std::int64_t x) {
    return give(hia_value_i64(engine, x));
  }
  static hia_status read(const hia_value *from, std::int64_t *x) {
    return hia_value_get_i64(from, x);
  }
  static void put(table &, const hia_type_info *, std::int64_t x, std::vector<std::int64_t> &to) {
    to.push_back(x);
  }
  static void get(const rows &, const std::int64_t **at, std::int64_t *x) noexcept {
    *x = *(*at)++;
  }
};
template <> struct type<float> : scalar<float, HIA_F32> {
  static constexpr const char *name = "f32";
  static given make(hia_engine *engine, const hia_type_info *, float x) {
    return give(hia_value_f32(engine, x));
  }
  static hia_status read(const hia_value *from, float *x) { return hia_value_get_f32(from, x); }
  static void put(table &, const hia_type_info *, float x, std::vector<std::int64_t> &to) {
    to.push_back(hia_word_of_f32(x));
  }
  static void get(const rows &, const std::int64_t **at, float *x) noexcept {
    *x = hia_word_to_f32(*(*at)++);
  }
};
template <> struct type<double> : scalar<double, HIA_F64> {
  static constexpr const char *name = "f64";
  static given make(hia_engine *engine, const hia_type_info *, double x) {
    return give(hia_value_f64(engine, x));
  }
  static hia_status read(const hia_value *from, double *x) { return hia_value_get_f64(from, x); }
  static void put(table &, const hia_type_info *, double x, std::vector<std::int64_t> &to) {
    to.push_back(hia_word_of_f64(x));
  }
  static void get(const rows &, const std::int64_t **at, double *x) noexcept {
    *x = hia_word_to_f64(*(*at)++);
  }
};

// A value of its own, as a T. HIA_MEMORY if it is empty.
template <class T> hia_status take(value_owner &&from, T *x) {
  return from ? type<T>::read(from.get(), x) : HIA_MEMORY;
}
template <> inline hia_status take<value>(value_owner &&from, value *x);

// Concatenates arrays.
template <std::size_t... n> constexpr auto joined(const std::array<hia_dtype, n> &...parts) {
  std::array<hia_dtype, (n + ... + 0)> all{};
  std::size_t at = 0;
  const auto add = [&](const auto &part) {
    for (hia_dtype x : part) all[at++] = x;
  };
  (add(parts), ...);
  static_cast<void>(add);
  return all;
}

template <class... T> struct type<std::tuple<T...>> {
  static_assert(sizeof...(T) >= 2, "a tuple of hiaton's has two parts or more");
  using tuple = std::tuple<T...>;
  using flat = decltype(std::tuple_cat(std::declval<typename type<T>::flat>()...));
  using out = decltype(std::tuple_cat(std::declval<typename type<T>::out>()...));
  using held = std::tuple<typename type<T>::held...>;
  using parts = std::index_sequence_for<T...>;
  static constexpr bool has_arrays = (type<T>::has_arrays || ...);
  static constexpr bool has_values = (type<T>::has_values || ...);

  static constexpr auto dtypes = joined(type<T>::dtypes...);
  static constexpr auto out_dtypes = joined(type<T>::out_dtypes...);
  static bool is(const hia_type_info *info) noexcept {
    std::size_t i = 0;
    return hia_type_info_len(info) == sizeof...(T) &&
           (type<T>::is(hia_type_info_part(info, i++)) && ...);
  }
  static bool is_param(const hia_type_info *info) noexcept {
    std::size_t i = 0;
    return hia_type_info_len(info) == sizeof...(T) &&
           (type<T>::is_param(hia_type_info_part(info, i++)) && ...);
  }
  static held hold(const hia_type_info *info, const tuple &x) {
    return hold_parts(info, x, parts());
  }
  static bool is_held(const held &x) noexcept {
    return std::apply([](const auto &...part) { return (type<T>::is_held(part) && ...); }, x);
  }
  static flat flatten(const held &x) noexcept {
    return std::apply([](const auto &...part) { return std::tuple_cat(type<T>::flatten(part)...); },
                      x);
  }
  // The index of part i's first scalar.
  static constexpr std::size_t offset(std::size_t i) {
    const std::size_t sizes[] = {std::tuple_size_v<typename type<T>::flat>...};
    std::size_t sum = 0;
    for (std::size_t k = 0; k < i; k++) sum += sizes[k];
    return sum;
  }
  template <std::size_t at, class Out> static hia_status gather(Out &all, tuple *x) {
    return gather_parts<at>(all, x, parts());
  }
  static given make(hia_engine *engine, const hia_type_info *info, const tuple &x) {
    return make_parts(engine, info, x, parts());
  }
  static hia_status read(const hia_value *from, tuple *x) {
    if (hia_type_info_len(hia_value_type(from)) != sizeof...(T)) return HIA_ARGUMENT;
    return read_parts(from, x, parts());
  }
  static void put(table &t, const hia_type_info *info, const tuple &x,
                  std::vector<std::int64_t> &to) {
    put_parts(t, info, x, to, parts());
  }
  static void get(const rows &from, const std::int64_t **at, tuple *x) {
    std::apply([&](T &...part) { (type<T>::get(from, at, &part), ...); }, *x);
  }

private:
  template <std::size_t... i>
  static held hold_parts(const hia_type_info *info, const tuple &x, std::index_sequence<i...>) {
    return held{type<T>::hold(hia_type_info_part(info, i), std::get<i>(x))...};
  }
  template <std::size_t at, class Out, std::size_t... i>
  static hia_status gather_parts(Out &all, tuple *x, std::index_sequence<i...>) {
    hia_status status = HIA_OK;
    ((status = status == HIA_OK ? type<T>::template gather<at + offset(i)>(all, &std::get<i>(*x))
                                : status),
     ...);
    return status;
  }
  template <std::size_t... i>
  static given make_parts(hia_engine *engine, const hia_type_info *info, const tuple &x,
                          std::index_sequence<i...>) {
    const given made[] = {type<T>::make(engine, hia_type_info_part(info, i), std::get<i>(x))...};
    hia_value *const all[] = {made[i].at...};
    return give(hia_value_tuple(engine, all, sizeof...(T)));
  }
  template <std::size_t... i>
  static hia_status read_parts(const hia_value *from, tuple *x, std::index_sequence<i...>) {
    hia_status status = HIA_OK;
    ((status =
          status == HIA_OK ? take(value_owner(hia_value_part(from, i)), &std::get<i>(*x)) : status),
     ...);
    return status;
  }
  template <std::size_t... i>
  static void put_parts(table &t, const hia_type_info *info, const tuple &x,
                        std::vector<std::int64_t> &to, std::index_sequence<i...>) {
    (type<T>::put(t, hia_type_info_part(info, i), std::get<i>(x), to), ...);
  }
};

// Data or any array: a parameter is borrowed, and a result, which may be a tensor too, is the
// caller's.
template <> struct type<value> {
  using flat = std::tuple<const hia_value *>;
  using out = std::tuple<hia_value *>;
  using held = const hia_value *;
  static constexpr bool has_arrays = false, has_values = true;
  static constexpr std::array<hia_dtype, 1> dtypes{HIA_ENTRY_VALUE}, out_dtypes{HIA_ENTRY_VALUE};
  static bool is_param(const hia_type_info *info) noexcept {
    const hia_type_kind kind = hia_type_info_kind(info);
    return info != nullptr && (kind == HIA_KIND_DATA || kind == HIA_KIND_ARRAY);
  }
  static bool is(const hia_type_info *info) noexcept {
    return is_param(info) || hia_type_info_kind(info) == HIA_KIND_TENSOR;
  }
  static inline held hold(const hia_type_info *, const value &x) noexcept;
  static bool is_held(held) noexcept { return true; } // the call refuses an empty one
  static flat flatten(held x) noexcept { return flat(x); }
  template <std::size_t at, class Out> static hia_status gather(Out &all, value *x) noexcept;
  static inline given make(hia_engine *, const hia_type_info *, const value &x) noexcept;
};

// An array, which is copied. Its elements are tuples and vectors; those of a result may be values.
template <class T> struct type<std::vector<T>> {
  using vector = std::vector<T>;
  using flat = std::tuple<const hia_value *>;
  using out = std::tuple<hia_value *>;
  using held = value_owner;
  static constexpr bool has_arrays = true, has_values = type<T>::has_values;
  static constexpr std::array<hia_dtype, 1> dtypes{HIA_ENTRY_VALUE}, out_dtypes{HIA_ENTRY_VALUE};
  static bool is(const hia_type_info *info) noexcept {
    return info != nullptr && hia_type_info_kind(info) == HIA_KIND_ARRAY &&
           type<T>::is(hia_type_info_element(info));
  }
  static bool is_param(const hia_type_info *info) noexcept { return is(info); }
  static held hold(const hia_type_info *info, const vector &x) {
    return made(info, x, [](const hia_value_nodes *nodes, hia_value **made) {
      return hia_data_from_nodes(nullptr, nodes, made, nullptr);
    });
  }
  static bool is_held(const held &x) noexcept { return bool(x); }
  static flat flatten(const held &x) noexcept { return flat(x.get()); }
  template <std::size_t at, class Out> static hia_status gather(Out &all, vector *x) {
    return read(std::get<at>(all).get(), x);
  }
  static given make(hia_engine *engine, const hia_type_info *info, const vector &x) {
    return give(made(info, x, [engine](const hia_value_nodes *nodes, hia_value **made) {
                  return hia_data_from_nodes(hia_engine_allocator(engine), nodes, made, nullptr);
                }).release());
  }
  static hia_status read(const hia_value *from, vector *x) {
    const hia_type_info *info = hia_value_type(from);
    if (!is(info)) return HIA_ARGUMENT;
    if constexpr (has_values)
      return read_parts(from, x);
    else
      return read_table(from, x);
  }
  static void get(const rows &from, const std::int64_t **at, vector *x) {
    const std::int64_t node = *(*at)++;
    x->clear();
    if (node != HIA_NODE_EMPTY) get_node(from, std::size_t(node), x);
  }
  static void put(table &t, const hia_type_info *info, const vector &x,
                  std::vector<std::int64_t> &to) {
    to.push_back(x.empty() ? HIA_NODE_EMPTY : add(t, info, x));
  }

private:
  static void get_node(const rows &from, std::size_t node, vector *x) {
    const std::int64_t *at = from.table.words + from.first[node];
    const std::size_t n = std::size_t(from.table.nodes[node].n);
    x->reserve(n);
    for (std::size_t i = 0; i < n; i++) {
      T element{};
      type<T>::get(from, &at, &element);
      x->push_back(std::move(element));
    }
  }
  static hia_status read_table(const hia_value *from, vector *x) {
    x->clear();
    if (hia_value_len(from) == 0) return HIA_OK;
    hia_value_nodes *all = nullptr;
    const hia_status status = hia_value_to_nodes(from, &all, nullptr);
    if (status != HIA_OK) return status;
    const owner<hia_value_nodes, hia_value_nodes_free> nodes(all);
    get_node(rows(*all), all->n_nodes - 1, x);
    return HIA_OK;
  }
  static hia_status read_parts(const hia_value *from, vector *x) {
    const std::size_t n = hia_value_len(from);
    x->clear();
    x->reserve(n);
    for (std::size_t i = 0; i < n; i++) {
      T element{};
      const hia_status status = take(value_owner(hia_value_part(from, i)), &element);
      if (status != HIA_OK) return status;
      x->push_back(std::move(element));
    }
    return HIA_OK;
  }
  static std::int64_t add(table &t, const hia_type_info *info, const vector &x) {
    static_assert(!has_values,
                  "an array of data is a value, which value::array makes of its elements");
    std::vector<std::int64_t> words;
    words.reserve(x.size());
    for (std::size_t i = 0; i < x.size(); i++)
      type<T>::put(t, hia_type_info_element(info), x[i], words);
    return t.add(info, x.size(), words);
  }
  // Empty if the type is another one, or when out of memory.
  template <class Make>
  static value_owner made(const hia_type_info *info, const vector &x, Make make) {
    if (!is(info)) return {};
    table t;
    add(t, info, x);
    const hia_value_nodes nodes = t.view();
    hia_value *made = nullptr;
    make(&nodes, &made);
    return value_owner(made);
  }
};

// Tensors of dtype T and rank N: what views, tensors that own, and vectors have in common.
template <class T, std::size_t N> struct tensor_type {
  static_assert(N >= 1 && N <= 16, "hiaton has tensors of rank 1 to 16");
  using view = tensor_view<T, N>;
  using flat = std::tuple<const view *>;
  using out = std::tuple<hia_value *>;
  static constexpr bool has_arrays = false, has_values = false;
  static constexpr hia_dtype dtype = type<T>::dtypes[0];
  static constexpr std::array<hia_dtype, 1> dtypes{HIA_ENTRY_TENSOR}, out_dtypes{HIA_ENTRY_VALUE};
  static bool is(const hia_type_info *info) noexcept {
    hia_dtype found;
    return hia_type_info_rank(info) == N &&
           hia_type_info_dtype(hia_type_info_element(info), &found) == HIA_OK && found == dtype;
  }
  static bool is_param(const hia_type_info *info) noexcept { return is(info); }
  static given made(const hia_type_info *info, const view &x) noexcept {
    hia_value *value = nullptr;
    if (is(info)) hia_data_tensor(nullptr, info, x.dims, x.elements, &value, nullptr);
    return give(value);
  }
  static hia_status look(const hia_value *from, view *x) noexcept {
    const void *elements = nullptr;
    const hia_status status = hia_value_tensor(from, dtype, N, &elements, x->dims);
    x->elements = static_cast<const T *>(elements);
    return status;
  }
  static void put_view(table &t, const hia_type_info *info, const view &x,
                       std::vector<std::int64_t> &to) {
    std::vector<std::int64_t> words(x.dims, x.dims + N);
    for (const T &element : x) type<T>::put(t, nullptr, element, words);
    to.push_back(t.add(info, x.size(), words));
  }
};

// A parameter, and what value::as looks at.
template <class T, std::size_t N> struct type<tensor_view<T, N>> : tensor_type<T, N> {
  using of = tensor_type<T, N>;
  using view = tensor_view<T, N>;
  using held = const view *;
  static held hold(const hia_type_info *, const view &x) noexcept { return &x; }
  static bool is_held(held) noexcept { return true; }
  static typename of::flat flatten(held x) noexcept { return typename of::flat(x); }
  template <std::size_t at, class Out> static hia_status gather(Out &, view *) noexcept {
    static_assert(is_false<Out>, "a result that is a tensor owns its elements: hiaton::tensor");
    return HIA_ARGUMENT;
  }
  static given make(hia_engine *, const hia_type_info *info, const view &x) noexcept {
    return of::made(info, x);
  }
  static hia_status read(const hia_value *from, view *x) noexcept { return of::look(from, x); }
  static void put(table &t, const hia_type_info *info, const view &x,
                  std::vector<std::int64_t> &to) {
    of::put_view(t, info, x, to);
  }
};

// A result.
template <class T, std::size_t N> struct type<tensor<T, N>> : tensor_type<T, N> {
  using of = tensor_type<T, N>;
  using held = const tensor_view<T, N> *;
  static held hold(const hia_type_info *, const tensor<T, N> &x) noexcept { return &x.view(); }
  static bool is_held(held) noexcept { return true; }
  static typename of::flat flatten(held x) noexcept { return typename of::flat(x); }
  template <std::size_t at, class Out>
  static hia_status gather(Out &all, tensor<T, N> *x) noexcept {
    return x->take(std::move(std::get<at>(all)));
  }
  static given make(hia_engine *, const hia_type_info *info, const tensor<T, N> &x) noexcept {
    return of::made(info, x.view());
  }
  static hia_status read(const hia_value *from, tensor<T, N> *x) noexcept {
    return of::is(hia_value_type(from)) ? x->take(value_owner(hia_value_copy(from))) : HIA_ARGUMENT;
  }
};

// A vector as a tensor of rank 1. As a parameter it is not copied, but for a std::vector<bool>.
template <class T> struct vector_type : tensor_type<T, 1> {
  using of = tensor_type<T, 1>;
  using view = tensor_view<T, 1>;
  using vector = std::vector<T>;
  static constexpr bool is_bits = std::is_same_v<T, bool>;
  struct held {
    view at;
    std::unique_ptr<T[]> copy; // of bits
  };
  static held hold(const hia_type_info *, const vector &x) {
    held all;
    if constexpr (is_bits) {
      all.copy = std::make_unique<bool[]>(x.size());
      std::copy(x.begin(), x.end(), all.copy.get());
      all.at.elements = all.copy.get();
    } else {
      all.at.elements = x.data();
    }
    all.at.dims[0] = std::int64_t(x.size());
    return all;
  }
  static bool is_held(const held &) noexcept { return true; }
  static typename of::flat flatten(const held &x) noexcept { return typename of::flat(&x.at); }
  template <std::size_t at, class Out> static hia_status gather(Out &all, vector *x) {
    return read(std::get<at>(all).get(), x);
  }
  static given make(hia_engine *, const hia_type_info *info, const vector &x) {
    return of::made(info, hold(info, x).at);
  }
  static hia_status read(const hia_value *from, vector *x) {
    view all;
    const hia_status status = of::look(from, &all);
    if (status == HIA_OK) x->assign(all.begin(), all.end());
    return status;
  }
  static void put(table &t, const hia_type_info *info, const vector &x,
                  std::vector<std::int64_t> &to) {
    of::put_view(t, info, hold(info, x).at, to);
  }
  static void get(const rows &from, const std::int64_t **at, vector *x) {
    const std::size_t node = std::size_t(*(*at)++);
    const std::int64_t *word = from.table.words + from.first[node] + 1; // behind the size
    x->clear();
    x->reserve(std::size_t(from.table.nodes[node].n));
    for (std::size_t i = 0; i < from.table.nodes[node].n; i++) {
      T element{};
      type<T>::get(from, &word, &element);
      x->push_back(element);
    }
  }
};
template <> struct type<std::vector<bool>> : vector_type<bool> {};
template <> struct type<std::vector<std::int32_t>> : vector_type<std::int32_t> {};
template <> struct type<std::vector<std::int64_t>> : vector_type<std::int64_t> {};
template <> struct type<std::vector<float>> : vector_type<float> {};
template <> struct type<std::vector<double>> : vector_type<double> {};

// What an entry has written, of which the values now have an owner.
template <class T> struct owned {
  using type = T;
};
template <> struct owned<hia_value *> {
  using type = value_owner;
};
template <class... T>
std::tuple<typename owned<T>::type...> own(const std::tuple<T...> &all) noexcept {
  return std::apply(
      [](T... x) { return std::tuple<typename owned<T>::type...>(typename owned<T>::type(x)...); },
      all);
}

// The parameters of several types in order, and the C types of a signature.
template <class... T>
using flat_of = decltype(std::tuple_cat(std::declval<typename type<T>::flat>()...));

template <class Params, class Results> struct c_types;
template <class... P, class... R> struct c_types<std::tuple<P...>, std::tuple<R...>> {
  using entry = hia_status (*)(hia_context *, P..., R *...);
  using plain_many = void (*)(P..., R *...);
  using map = hia_status (*)(hia_context *, std::size_t, const P *..., R *...);
};

// A hia_write that appends to a std::string. Nothing may be thrown through hiaton.
inline bool append(void *user, const char *bytes, std::size_t len) noexcept {
#if defined(__cpp_exceptions)
  try {
    static_cast<std::string *>(user)->append(bytes, len);
  } catch (...) {
    return false;
  }
#else
  static_cast<std::string *>(user)->append(bytes, len);
#endif
  return true;
}

template <class Write> result<std::string> written(Write write) {
  std::string text;
  hia_error *e = nullptr;
  const hia_status status = write(append, &text, &e);
  if (status != HIA_OK) return error(status, e);
  return text;
}

} // namespace detail

// ---- entries ----

class context;

template <class Signature> class entry;

// A typed entry: a call costs some nanoseconds.
template <class R, class... P> class entry<R(P...)> {
  using params = detail::flat_of<P...>;
  using results = typename detail::type<R>::out;
  static constexpr bool has_arrays = (detail::type<P>::has_arrays || ... || false);

public:
  using c_type = typename detail::c_types<params, results>::entry; // as runtime.h has it
  explicit entry(c_type at) noexcept : at_(at) {
    static_assert(!has_arrays, "an entry that takes vectors needs its function, for their types");
  }
  // The function's entry: for a std::vector among the parameters it needs their types.
  entry(c_type at, const hia_function *of) noexcept : at_(at) {
    for (std::size_t i = 0; i < types_.size(); i++) types_[i] = hia_function_param_type(of, i);
  }
  c_type get() const noexcept { return at_; }
  inline result<R> operator()(const context &in, const P &...args) const;

private:
  const hia_type_info *type(std::size_t i) const noexcept {
    return i < types_.size() ? types_[i] : nullptr;
  }
  template <std::size_t... i>
  std::tuple<typename detail::type<P>::held...> hold(std::index_sequence<i...>,
                                                     const P &...args) const {
    return std::tuple<typename detail::type<P>::held...>(detail::type<P>::hold(type(i), args)...);
  }
  c_type at_;
  std::array<const hia_type_info *, has_arrays ? sizeof...(P) : 0> types_{};
};

namespace detail {
// A column of a map, as its caller has it and as C has it.
template <class T> struct column {
  using in = const T *;
  using out = T *;
  static in open(std::size_t, in from) noexcept { return from; }
  static out begin(std::size_t, out to) noexcept { return to; }
  static const T *at(in from) noexcept { return from; }
  static T *at(out to) noexcept { return to; }
  static void end(out, std::size_t, out) noexcept {}
};
template <> struct column<const hia_value *> {
  using in = const value *;
  using held = std::vector<const hia_value *>;
  static inline held open(std::size_t n, in from);
  static const hia_value *const *at(const held &all) noexcept { return all.data(); }
};
template <class T, std::size_t N> struct column<const tensor_view<T, N> *> {
  using in = const tensor_view<T, N> *;
  using held = std::vector<in>;
  static held open(std::size_t n, in from) {
    held all;
    all.reserve(n);
    for (std::size_t i = 0; i < n; i++) all.push_back(from + i);
    return all;
  }
  static const in *at(const held &all) noexcept { return all.data(); }
};
template <> struct column<hia_value *> {
  using out = value *;
  using held = std::vector<hia_value *>;
  static held begin(std::size_t n, out) { return held(n); }
  static hia_value **at(held &all) noexcept { return all.data(); }
  static inline void end(const held &all, std::size_t n, out to) noexcept;
};

template <class Params, class Results> class map_of;
template <class... P, class... R> class map_of<std::tuple<P...>, std::tuple<R...>> {
public:
  using c_type = typename c_types<std::tuple<P...>, std::tuple<R...>>::map;
  explicit map_of(c_type at) noexcept : at_(at) {}
  c_type get() const noexcept { return at_; }
  inline result<void> operator()(const context &in, std::size_t n, typename column<P>::in... params,
                                 typename column<R>::out... results) const;

private:
  c_type at_;
};
} // namespace detail

// A map entry: a call has n, a column for each scalar of the parameters, and one for each scalar of
// the result (runtime.h, "Maps"). Columns of values are `const value *` and `value *`: those of the
// rows that are written are replaced.
template <class Signature> class map_entry;
template <class R, class... P>
class map_entry<R(P...)>
    : public detail::map_of<detail::flat_of<P...>, typename detail::type<R>::out> {
public:
  using detail::map_of<detail::flat_of<P...>, typename detail::type<R>::out>::map_of;
};

template <class Signature> class plain;

// A plain function: no context, no limits, and it cannot fail.
template <class R, class... P> class plain<R(P...)> {
  using params = detail::flat_of<P...>;
  using results = typename detail::type<R>::out;
  using types = detail::c_types<params, results>;
  static constexpr bool is_scalar = std::tuple_size_v<results> == 1;
  template <class> struct returning;
  template <class... Q> struct returning<std::tuple<Q...>> {
    using type = R (*)(Q...);
  };

public:
  using c_type =
      std::conditional_t<is_scalar, typename returning<params>::type, typename types::plain_many>;
  explicit plain(c_type at) noexcept : at_(at) {}
  c_type get() const noexcept { return at_; }
  R operator()(const P &...args) const {
    static_assert(std::is_same_v<std::tuple<P...>, std::tuple<typename detail::type<P>::held...>>,
                  "plain functions take scalars alone");
    params in = std::tuple_cat(detail::type<P>::flatten(args)...);
    if constexpr (is_scalar) {
      return std::apply(at_, in);
    } else {
      R x{};
      results out{};
      std::apply([&](auto... a) { std::apply([&](auto &...y) { at_(a..., &y...); }, out); }, in);
      detail::type<R>::template gather<0>(out, &x);
      return x;
    }
  }

private:
  c_type at_;
};

// ---- values ----

class engine;

// A table of nodes that value::to_nodes has made; for its fields use get().
using nodes = owner<hia_value_nodes, hia_value_nodes_free>;

// A vocabulary, or the names of labels.
class vocab : public owner<hia_vocab, hia_vocab_free> {
public:
  using owner::owner;
  // Empty when out of memory.
  static vocab make() { return vocab(hia_vocab_new(nullptr)); }
  // A text with a word a line; `name` stands for it in messages.
  result<void> read(const char *name, std::string_view text) {
    hia_error *e = nullptr;
    const hia_status status = hia_vocab_read(get(), name, text.data(), text.size(), &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }
  // Reads the words of a file; and what writes one, from which the same words are read.
  result<void> load_file(const char *path) {
    hia_error *e = nullptr;
    const hia_status status = hia_vocab_load_file(get(), path, &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }
  result<void> save_file(const char *path) const {
    hia_error *e = nullptr;
    const hia_status status = hia_vocab_save_file(get(), path, &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }
  std::size_t size() const noexcept { return hia_vocab_len(get()); }
  std::string_view operator[](std::size_t i) const noexcept {
    std::size_t len;
    const char *word = hia_vocab_get(get(), i, &len);
    return std::string_view(word, len);
  }
};

class value : public owner<hia_value, hia_value_free> {
public:
  using owner::owner;
  // Empty when out of memory; a call then fails with HIA_ARGUMENT.
  template <class T> static inline value of(const engine &in, const T &x);
  // Makes a value of a type of hiaton's, which arrays need. HIA_ARGUMENT if it is not that of T.
  template <class T>
  static inline result<value> of(const engine &in, const hia_type_info *type, const T &x);
  // HIA_ARGUMENT if the value is of another type. An array is copied.
  template <class T> result<T> as() const {
    T x{};
    const hia_status status = detail::type<T>::read(get(), &x);
    if (status != HIA_OK) return error(status, nullptr);
    return x;
  }
  std::string format() const { return formatted(hia_value_format); }
  std::string format_type() const { return formatted(hia_value_format_type); }

  // Data and arrays, as in hiaton/values.h. Fields and elements remain the caller's.
  static inline result<value> data(const engine &in, const hia_type_info *type, std::size_t ctor,
                                   const std::vector<value> &fields = {});
  static inline result<value> array(const engine &in, const hia_type_info *type,
                                    const std::vector<value> &elements);
  static inline result<value> from_nodes(const engine &in, const hia_value_nodes &table);
  static inline result<value> read_brackets(const engine &in, const hia_type_info *type,
                                            const char *name, std::string_view text,
                                            const hia_bracket_options *options = nullptr);
  static inline result<value> load(const engine &in, const hia_type_info *type, const char *name,
                                   std::string_view bytes);
  static inline result<value> load_file(const engine &in, const hia_type_info *type,
                                        const char *path);
  result<nodes> to_nodes() const {
    hia_value_nodes *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_value_to_nodes(get(), &made, &e);
    if (status != HIA_OK) return error(status, e);
    return nodes(made);
  }
  result<std::string> save() const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_value_save(get(), write, user, e);
    });
  }
  result<void> save_file(const char *path) const {
    hia_error *e = nullptr;
    const hia_status status = hia_value_save_file(get(), path, &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }
  const hia_type_info *type() const noexcept { return hia_value_type(get()); } // of this value
  // The parts of a tuple, the elements of an array, the fields of data.
  std::size_t size() const noexcept { return hia_value_len(get()); }
  value part(std::size_t i) const { return value(hia_value_part(get(), i)); } // or empty
  std::size_t ctor() const noexcept { return hia_value_ctor(get()); }         // or HIA_NO_CTOR
  const char *ctor_name() const noexcept { return hia_type_info_ctor_name(type(), ctor()); }
  value copy() const { return value(hia_value_copy(get())); } // empty when out of memory

private:
  template <class Make> static result<value> made(Make make) {
    hia_value *out = nullptr;
    hia_error *e = nullptr;
    const hia_status status = make(&out, &e);
    if (status != HIA_OK) return error(status, e);
    return value(out);
  }
  static std::vector<hia_value *> pointers(const std::vector<value> &values) {
    std::vector<hia_value *> all;
    all.reserve(values.size());
    for (const value &x : values) all.push_back(x.get());
    return all;
  }
  template <class Print> std::string formatted(Print print) const {
    std::string text(print(get(), nullptr, 0) + 1, '\0');
    text.resize(print(get(), text.data(), text.size()));
    return text;
  }
};

// A tensor of rank N that owns its elements: a result. Wherever a view is wanted, it is one; the
// view is valid as long as the tensor. Moved, not copied; after a move, and at first, it is empty:
// without elements, all sizes 0.
template <class T, std::size_t N> class tensor {
public:
  tensor() noexcept = default;
  tensor(tensor &&other) noexcept
      : value_(std::move(other.value_)), view_(std::exchange(other.view_, {})) {}
  tensor &operator=(tensor &&other) noexcept {
    value_ = std::move(other.value_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }
  // A value, which it takes over. HIA_ARGUMENT if that is no such tensor; it is freed then.
  hia_status take(detail::value_owner &&from) noexcept {
    value_ = std::move(from);
    return detail::tensor_type<T, N>::look(value_.get(), &view_);
  }
  const tensor_view<T, N> &view() const noexcept { return view_; }
  operator const tensor_view<T, N> &() const noexcept { return view_; }
  const std::int64_t (&dims() const noexcept)[N] { return view_.dims; }
  std::size_t size() const noexcept { return view_.size(); }
  const T *data() const noexcept { return view_.elements; }
  const T *begin() const noexcept { return view_.begin(); }
  const T *end() const noexcept { return view_.end(); }
  const T &operator[](std::size_t i) const noexcept { return view_[i]; }

private:
  detail::value_owner value_;
  tensor_view<T, N> view_;
};

namespace detail {
template <> inline hia_status take<value>(value_owner &&from, value *x) {
  *x = value(from.release());
  return *x ? HIA_OK : HIA_MEMORY;
}
inline const hia_value *type<value>::hold(const hia_type_info *, const value &x) noexcept {
  return x.get();
}
template <std::size_t at, class Out> hia_status type<value>::gather(Out &all, value *x) noexcept {
  return take(std::move(std::get<at>(all)), x);
}
inline given type<value>::make(hia_engine *, const hia_type_info *, const value &x) noexcept {
  return {value_owner(), x.get()};
}
inline std::vector<const hia_value *> column<const hia_value *>::open(std::size_t n, in from) {
  held all;
  all.reserve(n);
  for (std::size_t i = 0; i < n; i++) all.push_back(from[i].get());
  return all;
}
inline void column<hia_value *>::end(const held &all, std::size_t n, out to) noexcept {
  for (std::size_t i = 0; i < n; i++) to[i] = value(all[i]);
}
} // namespace detail

// ---- functions ----

// A function of a module, which owns it. Copied like a pointer.
class function {
public:
  explicit function(hia_function *at) noexcept : at_(at) {}
  hia_function *get() const noexcept { return at_; }
  const char *name() const noexcept { return hia_function_name(at_); }
  const char *signature() const noexcept { return hia_function_signature(at_); }
  std::size_t arity() const noexcept { return hia_function_arity(at_); }
  bool is_generic() const noexcept { return hia_function_is_generic(at_); }
  // They belong to the module. NULL: the function is generic in it, or has no such parameter.
  const hia_type_info *param_type(std::size_t i) const noexcept {
    return hia_function_param_type(at_, i);
  }
  const hia_type_info *result_type() const noexcept { return hia_function_result_type(at_); }
  result<void> prepare() const {
    hia_error *e = nullptr;
    const hia_status status = hia_function_prepare(at_, &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }

  // Which versions of it assume something of its arguments, and why, as hia_function_explain says.
  result<std::string> explain(bool json = false) const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_function_explain(at_, json, write, user, e);
    });
  }

  // Calls it with values; `options` as in hia_run.
  result<value> run(const std::vector<value> &args,
                    const hia_run_options *options = nullptr) const {
    std::vector<hia_value *> all;
    all.reserve(args.size());
    for (const value &x : args) all.push_back(x.get());
    return run(all.data(), all.size(), options);
  }
  // Calls it with C++ types: f.call<double>(engine, 1.5, true). HIA_ARGUMENT if they differ from
  // those of the function.
  template <class R, class... P> inline result<R> call(const engine &in, const P &...args) const;
  template <class R, class... P>
  inline result<R> call(const engine &in, const hia_run_options &options, const P &...args) const;

  // The typed entry, the map entry, and the plain function: HIA_ARGUMENT if the function has other
  // types. For the other errors see hia_function_entry, hia_function_map and hia_function_plain.
  template <class Signature> result<hiaton::entry<Signature>> entry() const {
    return native<hiaton::entry<Signature>, Signature>(hia_function_entry);
  }
  template <class Signature> result<hiaton::map_entry<Signature>> map() const {
    return native<hiaton::map_entry<Signature>, Signature>(hia_function_map);
  }
  template <class Signature> result<hiaton::plain<Signature>> plain() const {
    return native<hiaton::plain<Signature>, Signature>(hia_function_plain);
  }

private:
  // Compares a signature with the function's types; the error shows the function's types.
  template <class Signature> struct types_of;
  template <class R, class... P> struct types_of<R(P...)> {
    static result<void> check(const hia_function *f) {
      std::size_t i = 0;
      const bool is_same = hia_function_arity(f) == sizeof...(P) &&
                           (detail::type<P>::is_param(hia_function_param_type(f, i++)) && ...) &&
                           detail::type<R>::is(hia_function_result_type(f));
      if (is_same) return {};
      constexpr auto params = detail::joined(detail::type<P>::dtypes...);
      constexpr auto results = detail::type<R>::out_dtypes;
      hia_error *e = nullptr;
      hia_function_check_entry(f, params.data(), params.size(), results.data(), results.size(), &e);
      return error(HIA_ARGUMENT, e); // without a message if the two have the same scalars
    }
  };
  template <class Entry, class Signature, class Get> result<Entry> native(Get get_native) const {
    hia_error *e = nullptr;
    hia_native_fn found = nullptr;
    result<void> same = types_of<Signature>::check(at_);
    if (!same) return std::move(same.error());
    const hia_status status = get_native(at_, &found, &e);
    if (status != HIA_OK) return error(status, e);
    const auto code = reinterpret_cast<typename Entry::c_type>(found);
    if constexpr (std::is_constructible_v<Entry, typename Entry::c_type, const hia_function *>)
      return Entry(code, at_);
    else
      return Entry(code);
  }
  template <std::size_t... i, class... P>
  std::array<detail::given, sizeof...(P)> given(const engine &in, std::index_sequence<i...>,
                                                const P &...args) const;
  result<value> run(hia_value *const *args, std::size_t n, const hia_run_options *options) const {
    hia_value *out = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_run(at_, args, n, options, &out, &e);
    if (status != HIA_OK) return error(status, e);
    return value(out);
  }
  hia_function *at_;
};

// ---- modules ----

class module : public owner<hia_module, hia_module_free> {
public:
  using owner::owner;
  // By name, "fact", or an instance by name and types, "fact(i64)".
  result<hiaton::function> function(const char *name) const {
    hia_function *found = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_module_function(get(), name, &found, &e);
    if (status != HIA_OK) return error(status, e);
    return hiaton::function(found);
  }
  // The data type of this name, or NULL. It belongs to the module.
  const hia_type_info *type(const char *name) const noexcept {
    return hia_module_type(get(), name);
  }
  result<std::string> dump(const hia_dump_options *options = nullptr) const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_module_dump(get(), nullptr, 0, options, write, user, e);
    });
  }
  // All functions whose types are known, as an object file, and as its header.
  result<std::string> build_object(const hia_build_options *options = nullptr) const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_module_build_object(get(), nullptr, 0, options, write, user, e);
    });
  }
  result<std::string> build_header(const hia_build_options *options = nullptr) const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_module_build_header(get(), nullptr, 0, options, write, user, e);
    });
  }
};

// ---- engines ----

struct host_options {
  bool is_impure = false; // "extern impure fn"
  bool is_safe = false;   // as in hia_host_function
};

class engine : public owner<hia_engine, hia_engine_free> {
public:
  using owner::owner;
  static result<engine> make(const hia_engine_options *options = nullptr) {
    hia_engine *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_engine_new(options, &made, &e);
    if (status != HIA_OK) return error(status, e);
    return engine(made);
  }
  // HIA_UNSUPPORTED, with the reason, if it cannot compile to native code.
  result<void> native() const {
    hia_error *e = nullptr;
    const hia_status status = hia_engine_native(get(), &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }
  result<module> load_text(const char *name, std::string_view text) const {
    return loaded([&](hia_module **made, hia_error **e) {
      return hia_module_load_text(get(), name, text.data(), text.size(), made, e);
    });
  }
  result<module> load_file(const char *path) const {
    return loaded([&](hia_module **made, hia_error **e) {
      return hia_module_load_file(get(), path, made, e);
    });
  }
  result<module> load_ir(const char *name, std::string_view text) const {
    return loaded([&](hia_module **made, hia_error **e) {
      return hia_module_load_ir(get(), name, text.data(), text.size(), made, e);
    });
  }

  // Registers a host function for programs that declare it `extern` with its types:
  // engine.host("erf", +[](double x) noexcept { return std::erf(x); }). It must be noexcept, since
  // nothing may be thrown through hiaton.
  template <class R, class... P>
  result<void> host(const char *name, R (*called)(P...) noexcept, host_options options = {}) const {
    static_assert(std::is_arithmetic_v<R> && (std::is_arithmetic_v<P> && ...),
                  "functions with tuples or a status are registered by hia_engine_register");
    std::string declaration = options.is_impure ? "extern impure fn " : "extern fn ";
    declaration += name;
    declaration += '(';
    int i = 0;
    ((declaration += (i == 0 ? "a" : ", a") + std::to_string(i) + ": ", i++,
      declaration += detail::type<P>::name),
     ...);
    static_cast<void>(i);
    declaration += ") -> ";
    declaration += detail::type<R>::name;
    hia_host_function f = HIA_HOST_FUNCTION_INIT;
    f.declaration = declaration.c_str();
    f.is_safe = options.is_safe;
    f.function = reinterpret_cast<void (*)()>(called);
    hia_error *e = nullptr;
    const hia_status status = hia_engine_register(get(), &f, &e);
    if (status != HIA_OK) return error(status, e);
    return {};
  }

private:
  template <class Load> result<module> loaded(Load load) const {
    hia_module *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = load(&made, &e);
    if (status != HIA_OK) return error(status, e);
    return module(made);
  }
};

template <class T> value value::of(const engine &in, const T &x) {
  static_assert(!detail::type<T>::has_arrays, "an array needs its type: of(engine, type, x)");
  return value(detail::type<T>::make(in.get(), nullptr, x).made.release());
}

template <class T>
result<value> value::of(const engine &in, const hia_type_info *type, const T &x) {
  if (!detail::type<T>::is(type)) return hiaton::error(HIA_ARGUMENT, nullptr);
  value made(detail::type<T>::make(in.get(), type, x).made.release());
  if (!made) return hiaton::error(HIA_MEMORY, nullptr);
  return made;
}

result<value> value::data(const engine &in, const hia_type_info *type, std::size_t ctor,
                          const std::vector<value> &fields) {
  const std::vector<hia_value *> all = pointers(fields);
  return made([&](hia_value **out, hia_error **e) {
    return hia_value_data(in.get(), type, ctor, all.data(), all.size(), out, e);
  });
}

result<value> value::array(const engine &in, const hia_type_info *type,
                           const std::vector<value> &elements) {
  const std::vector<hia_value *> all = pointers(elements);
  return made([&](hia_value **out, hia_error **e) {
    return hia_value_array(in.get(), type, all.data(), all.size(), out, e);
  });
}

result<value> value::from_nodes(const engine &in, const hia_value_nodes &table) {
  return made([&](hia_value **out, hia_error **e) {
    return hia_data_from_nodes(hia_engine_allocator(in.get()), &table, out, e);
  });
}

result<value> value::read_brackets(const engine &in, const hia_type_info *type, const char *name,
                                   std::string_view text, const hia_bracket_options *options) {
  return made([&](hia_value **out, hia_error **e) {
    return hia_data_read_brackets(hia_engine_allocator(in.get()), type, name, text.data(),
                                  text.size(), options, out, e);
  });
}

result<value> value::load(const engine &in, const hia_type_info *type, const char *name,
                          std::string_view bytes) {
  return made([&](hia_value **out, hia_error **e) {
    return hia_data_load(hia_engine_allocator(in.get()), type, name, bytes.data(), bytes.size(),
                         out, e);
  });
}

result<value> value::load_file(const engine &in, const hia_type_info *type, const char *path) {
  return made([&](hia_value **out, hia_error **e) {
    return hia_data_load_file(hia_engine_allocator(in.get()), type, path, out, e);
  });
}

// ---- contexts ----

// What one thread at a time needs to call typed entries and map entries.
class context : public owner<hia_context, hia_context_free> {
public:
  using owner::owner;
  // Independent of any engine.
  static result<context> make(const hia_context_options *options = nullptr) {
    hia_context *made = nullptr;
    const hia_status status = hia_context_new(options, &made);
    if (status != HIA_OK) return error(status, nullptr);
    return context(made);
  }
  // With an engine's limits, allocator and threads.
  static result<context> make(const engine &of) {
    hia_context *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_engine_context_new(of.get(), &made, &e);
    if (status != HIA_OK) return error(status, e);
    return context(made);
  }
  void cancel() const noexcept { hia_context_cancel(get()); } // from any thread
  void reset() const noexcept { hia_context_reset(get()); }
  void set_timeout(std::chrono::nanoseconds timeout) const noexcept {
    hia_context_set_timeout(get(), timeout.count() > 0 ? std::uint64_t(timeout.count()) : 0);
  }
  std::uint64_t rows() const noexcept { return hia_context_rows(get()); } // of the last map
};

template <class R, class... P>
result<R> entry<R(P...)>::operator()(const context &in, const P &...args) const {
  const std::tuple<typename detail::type<P>::held...> held =
      hold(std::index_sequence_for<P...>(), args...);
  const bool is_held =
      std::apply([](const auto &...x) { return (detail::type<P>::is_held(x) && ...); }, held);
  if (!is_held) return error(HIA_MEMORY, nullptr);
  params flat = std::apply(
      [](const auto &...x) { return std::tuple_cat(detail::type<P>::flatten(x)...); }, held);
  results out{};
  const hia_status status = std::apply(
      [&](auto... x) {
        return std::apply([&](auto &...y) { return at_(in.get(), x..., &y...); }, out);
      },
      flat);
  if (status != HIA_OK) return error::of_context(status, in.get());
  auto owned = detail::own(out);
  R result{};
  const hia_status read = detail::type<R>::template gather<0>(owned, &result);
  if (read != HIA_OK) return error(read, nullptr);
  return result;
}

template <class... P, class... R>
result<void> detail::map_of<std::tuple<P...>, std::tuple<R...>>::operator()(
    const context &in, std::size_t n, typename column<P>::in... params,
    typename column<R>::out... results) const {
  const auto from = std::make_tuple(column<P>::open(n, params)...);
  auto to = std::make_tuple(column<R>::begin(n, results)...);
  const hia_status status = std::apply(
      [&](const auto &...x) {
        return std::apply(
            [&](auto &...y) { return at_(in.get(), n, column<P>::at(x)..., column<R>::at(y)...); },
            to);
      },
      from);
  // HIA_BUSY leaves the number as it was.
  std::size_t rows = status == HIA_BUSY ? 0 : std::size_t(hia_context_rows(in.get()));
  if (status == HIA_OK) rows = n;
  std::apply([&](auto &...y) { (column<R>::end(y, rows, results), ...); }, to);
  static_cast<void>(rows);
  if (status != HIA_OK) return error::of_context(status, in.get());
  return {};
}

template <std::size_t... i, class... P>
std::array<detail::given, sizeof...(P)> function::given(const engine &in, std::index_sequence<i...>,
                                                        const P &...args) const {
  static_cast<void>(in);
  return {detail::type<P>::make(in.get(), param_type(i), args)...};
}

template <class R, class... P>
result<R> function::call(const engine &in, const hia_run_options &options, const P &...args) const {
  const std::array<detail::given, sizeof...(P)> made =
      given(in, std::index_sequence_for<P...>(), args...);
  std::array<hia_value *, sizeof...(P) + 1> all{};
  for (std::size_t i = 0; i < made.size(); i++) all[i] = made[i].at;
  result<value> out = run(all.data(), made.size(), &options);
  if (!out) return std::move(out.error());
  R x{};
  const hia_status status = detail::take(detail::value_owner(out->release()), &x);
  if (status != HIA_OK) return error(status, nullptr);
  return x;
}
template <class R, class... P> result<R> function::call(const engine &in, const P &...args) const {
  const hia_run_options options = HIA_RUN_OPTIONS_INIT;
  return call<R, P...>(in, options, args...);
}

// ---- ending runs, timelines, builders ----

// For hia_run_options::cancel. Empty when out of memory.
class cancel : public owner<hia_cancel, hia_cancel_free> {
public:
  using owner::owner;
  static cancel make() noexcept { return cancel(hia_cancel_new(nullptr)); }
  void request() const noexcept { hia_cancel_request(get()); } // from any thread
  bool is_requested() const noexcept { return hia_cancel_is_requested(get()); }
  void reset() const noexcept { hia_cancel_reset(get()); }
};

// For hia_run_options::timeline. Empty when out of memory.
class timeline : public owner<hia_timeline, hia_timeline_free> {
public:
  using owner::owner;
  static timeline make(std::size_t events = 0) noexcept {
    return timeline(hia_timeline_new(nullptr, events));
  }
  std::uint64_t dropped() const noexcept { return hia_timeline_dropped(get()); }
  result<std::string> json() const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_timeline_write(get(), write, user, e);
    });
  }
};

// A program that is made by the functions of builder.h: hia_build_add(builder.get(), x, y).
class builder : public owner<hia_builder, hia_builder_free> {
public:
  using owner::owner;
  static result<builder> make(const engine &in, const char *name = nullptr) {
    hia_builder *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_builder_new(in.get(), name, &made, &e);
    if (status != HIA_OK) return error(status, e);
    return builder(made);
  }
  hia_status status() const noexcept { return hia_builder_status(get()); }
  result<module> finish() const {
    hia_module *made = nullptr;
    hia_error *e = nullptr;
    const hia_status status = hia_builder_finish(get(), &made, &e);
    if (status != HIA_OK) return error(status, e);
    return module(made);
  }
  result<std::string> print() const {
    return detail::written([&](hia_write write, void *user, hia_error **e) {
      return hia_builder_print(get(), write, user, e);
    });
  }
};

} // namespace hiaton

#endif
