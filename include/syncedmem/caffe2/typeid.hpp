/*
 * Part of syncedmem/caffe2.hpp: types at run time. SPDX-License-Identifier: BSD-2-Clause
 */

#ifndef SYNCEDMEM_CAFFE2_TYPEID_HPP
#define SYNCEDMEM_CAFFE2_TYPEID_HPP

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "error.hpp"

SYNCEDMEM_CAFFE2_BEGIN

/// The type of dimensions and counts of items.
typedef std::int64_t TIndex;

/// Identifies a type in this process.
typedef std::intptr_t CaffeTypeId;

/// IEEE 754 binary16, as its bits.
typedef struct __f16 {
  std::uint16_t x;
} float16;

/// The readable form of a name of std::type_info.
inline std::string Demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return readable ? readable.get() : name;
}

namespace detail {

/// The id and functions of a `T` that every language knows, which specializations write.
template <typename T>
struct known : std::false_type {
  static void write(syncedmem_typemeta_t*) {}
};

/// A type of elements. `char` and `long long` are not among them, because only C++ has them.
template <syncedmem_type_t number>
struct known_element : std::true_type {
  static void write(syncedmem_typemeta_t* meta) { check(syncedmem_typemeta(number, meta)); }
};
template <>
struct known<float> : known_element<SYNCEDMEM_FLOAT32> {};
template <>
struct known<double> : known_element<SYNCEDMEM_FLOAT64> {};
template <>
struct known<float16> : known_element<SYNCEDMEM_FLOAT16> {};
template <>
struct known<std::int8_t> : known_element<SYNCEDMEM_INT8> {};
template <>
struct known<std::uint8_t> : known_element<SYNCEDMEM_UINT8> {};
template <>
struct known<std::int16_t> : known_element<SYNCEDMEM_INT16> {};
template <>
struct known<std::uint16_t> : known_element<SYNCEDMEM_UINT16> {};
template <>
struct known<std::int32_t> : known_element<SYNCEDMEM_INT32> {};
template <>
struct known<std::uint32_t> : known_element<SYNCEDMEM_UINT32> {};
template <>
struct known<std::int64_t> : known_element<SYNCEDMEM_INT64> {};
template <>
struct known<bool> : known_element<SYNCEDMEM_BOOL> {};

/// Whether items are bytes: they need no constructor, no destructor, and are copied by memcpy.
template <typename T>
struct is_plain
    : std::integral_constant<bool, std::is_fundamental<T>::value || std::is_pointer<T>::value || known<T>::value> {};

}  // namespace detail

/// The type of a tensor's items or of a blob's value. Every type has one; none needs to be registered.
class TypeMeta {
 public:
  /// Functions of a type. They return false after an exception, which `detail::pending` then holds.
  typedef bool (*PlacementNew)(void*, std::size_t);
  typedef bool (*TypedCopy)(const void*, void*, std::size_t);
  typedef void (*TypedDestructor)(void*, std::size_t);

  /// No type.
  TypeMeta() noexcept : c_() {}
  explicit TypeMeta(const syncedmem_typemeta_t& c) noexcept : c_(c) {}

  template <typename T>
  static TypeMeta Make() {
    return TypeMeta(table<T>());
  }

  CaffeTypeId id() const noexcept { return reinterpret_cast<CaffeTypeId>(c_.id); }
  const std::size_t& itemsize() const noexcept { return c_.itemsize; }
  PlacementNew ctor() const noexcept { return c_.construct; }
  TypedCopy copy() const noexcept { return c_.copy; }
  TypedDestructor dtor() const noexcept { return c_.destruct; }
  const char* name() const noexcept { return c_.id == nullptr ? "nullptr (uninitialized)" : c_.name; }

  bool operator==(const TypeMeta& other) const noexcept { return c_.id == other.c_.id; }
  bool operator!=(const TypeMeta& other) const noexcept { return !(*this == other); }

  template <typename T>
  bool Match() const {
    return c_.id == table<T>().id;
  }

  template <typename T>
  static CaffeTypeId Id() {
    return reinterpret_cast<CaffeTypeId>(table<T>().id);
  }
  template <typename T>
  static std::size_t ItemSize() {
    return sizeof(T);
  }
  template <typename T>
  static const char* Name() {
    static const std::string name = Demangle(typeid(T).name());
    return name.c_str();
  }
  template <typename T>
  static const char* TypeName() {
    return Name<T>();
  }

  template <typename T>
  static bool _Ctor(void* items, std::size_t count) {
    T* const typed = static_cast<T*>(items);
    std::size_t made = 0;
    try {
      for (; made < count; ++made) new (typed + made) T;
      return true;
    } catch (...) {
      detail::pending() = std::current_exception();
      _Dtor<T>(items, made);
      return false;
    }
  }

  template <typename T>
  static void _Dtor(void* items, std::size_t count) {
    T* const typed = static_cast<T*>(items);
    for (std::size_t at = 0; at < count; ++at) typed[at].~T();
  }

  template <typename T>
  static bool _Copy(const void* source, void* target, std::size_t count) {
    const T* const from = static_cast<const T*>(source);
    T* const to = static_cast<T*>(target);
    try {
      for (std::size_t at = 0; at < count; ++at) to[at] = from[at];
      return true;
    } catch (...) {
      detail::pending() = std::current_exception();
      return false;
    }
  }

  template <typename T>
  static bool _CopyNotAllowed(const void*, void*, std::size_t) {
    detail::pending() = std::make_exception_ptr(
        EnforceNotMet(SYNCEDMEM_ERROR_UNSUPPORTED, std::string("items of ") + Name<T>() + " cannot be assigned"));
    return false;
  }

  /// The type for the C API.
  const syncedmem_typemeta_t& c() const noexcept { return c_; }
  template <typename T>
  static const syncedmem_typemeta_t& c() {
    return table<T>();
  }

 private:
  template <typename T>
  static const syncedmem_typemeta_t& table() {
    static const syncedmem_typemeta_t table = make<T>();
    return table;
  }

  template <typename T>
  static syncedmem_typemeta_t make() {
    // The address of a static identifies its type.
    static const char own = 0;
    syncedmem_typemeta_t made = syncedmem_typemeta_t();
    made.id = &own;
    made.itemsize = sizeof(T);
    add_functions<T>(&made, detail::is_plain<T>());
    detail::known<T>::write(&made);
    made.name = Name<T>();
    return made;
  }
  template <typename T>
  static void add_functions(syncedmem_typemeta_t*, std::true_type /* plain */) {}
  template <typename T>
  static void add_functions(syncedmem_typemeta_t* made, std::false_type) {
    made->construct = _Ctor<T>;
    made->destruct = _Dtor<T>;
    made->copy = copy_of<T>(std::is_copy_assignable<T>());
  }
  template <typename T>
  static TypedCopy copy_of(std::true_type) {
    return _Copy<T>;
  }
  template <typename T>
  static TypedCopy copy_of(std::false_type) {
    return _CopyNotAllowed<T>;
  }

  syncedmem_typemeta_t c_;
};

SYNCEDMEM_CAFFE2_END

#endif  // SYNCEDMEM_CAFFE2_TYPEID_HPP
