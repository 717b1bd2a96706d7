// C++ wrappers for opdump.h: the same functions with automatic lifetimes. Header only, no exceptions.
#ifndef OPDUMP_OPDUMP_HPP
#define OPDUMP_OPDUMP_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "opdump/opdump.h"

namespace opdump {

// A recording, closed by its destructor. Movable; empty after a failed open (see opdump_last_error()).
class Recording {
 public:
  Recording() = default;
  explicit Recording(opdump_options options) {
    options.size = sizeof options;
    status_ = opdump_open(&options, &session_);
  }
  Recording(Recording&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)), status_(other.status_) {}
  Recording& operator=(Recording&& other) noexcept {
    std::swap(session_, other.session_);
    std::swap(status_, other.status_);
    return *this;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { close(); }

  // The result of opening.
  opdump_status status() const { return status_; }
  explicit operator bool() const { return session_ != nullptr; }
  opdump_session* get() const { return session_; }

  // Waits until everything is on disk. Not OPDUMP_OK if something was lost.
  opdump_status close() { return opdump_close(std::exchange(session_, nullptr)); }

 private:
  opdump_session* session_ = nullptr;
  opdump_status status_ = OPDUMP_OK;
};

// The dtype of a C++ type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr opdump_dtype value = OPDUMP_BOOL;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr opdump_dtype value = OPDUMP_INT8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr opdump_dtype value = OPDUMP_INT16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr opdump_dtype value = OPDUMP_INT32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr opdump_dtype value = OPDUMP_INT64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr opdump_dtype value = OPDUMP_UINT8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr opdump_dtype value = OPDUMP_UINT16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr opdump_dtype value = OPDUMP_UINT32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr opdump_dtype value = OPDUMP_UINT64;
};
template <>
struct DTypeOf<float> {
  static constexpr opdump_dtype value = OPDUMP_FLOAT32;
};
template <>
struct DTypeOf<double> {
  static constexpr opdump_dtype value = OPDUMP_FLOAT64;
};
template <>
struct DTypeOf<std::complex<float>> {
  static constexpr opdump_dtype value = OPDUMP_COMPLEX64;
};
template <>
struct DTypeOf<std::complex<double>> {
  static constexpr opdump_dtype value = OPDUMP_COMPLEX128;
};

// An opdump_tensor with a shape of its own. Borrows the elements.
//   Tensor x(data, {8, 3, 224, 224});                        row-major
//   Tensor half(OPDUMP_FLOAT16, bits, {8, 16});              a dtype that C++ has no type for
//   Tensor view = Tensor(data, {4, 4}).strides({1, 4});      counted in elements
class Tensor {
 public:
  Tensor(opdump_dtype dtype, const void* data, std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
    tensor_.size = sizeof tensor_;
    tensor_.dtype = dtype;
    tensor_.data = data;
  }
  template <typename T>
  Tensor(const T* data, std::vector<std::int64_t> shape)
      : Tensor(DTypeOf<T>::value, data, std::move(shape)) {}

  // As many as the shape has dimensions.
  Tensor& strides(std::vector<std::int64_t> strides) { return strides_ = std::move(strides), *this; }
  // The operand index. Without it a tensor has its place in the list that it is passed in.
  Tensor& index(std::uint32_t index) { return tensor_.index = index, has_index_ = true, *this; }
  Tensor& content(std::uint64_t content) { return tensor_.content = content, *this; }  // see opdump_tensor
  // Borrowed until the call is over.
  Tensor& name(const char* name) { return tensor_.name = name, *this; }
  Tensor& undumped(const char* reason) { return tensor_.undumped = reason, *this; }

  // At place `place` of a list. Points into this object.
  opdump_tensor get(std::uint32_t place = 0) const {
    opdump_tensor made = tensor_;
    made.rank = static_cast<std::uint32_t>(shape_.size());
    made.shape = shape_.data();
    made.strides = strides_.empty() ? nullptr : strides_.data();
    if (!has_index_) made.index = place;
    return made;
  }

 private:
  std::vector<std::int64_t> shape_, strides_;
  opdump_tensor tensor_ = opdump_tensor();
  bool has_index_ = false;
};

// Tensors as the C functions take them.
inline std::vector<opdump_tensor> to_c(std::initializer_list<Tensor> tensors) {
  std::vector<opdump_tensor> made;
  for (const Tensor& tensor : tensors) made.push_back(tensor.get(static_cast<std::uint32_t>(made.size())));
  return made;
}

// One execution of an operator: the constructor records the inputs; without finish() it ends as failed.
class Call {
 public:
  Call(opdump_session* session, const opdump_op* op, const opdump_tensor* inputs, std::size_t count)
      : session_(session), call_(opdump_begin(session, op, inputs, count)) {}
  Call(opdump_session* session, const opdump_op* op, std::initializer_list<Tensor> inputs)
      : Call(session, op, to_c(inputs).data(), inputs.size()) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (call_) opdump_end(session_, call_, nullptr, 0, 1);
  }

  // Records the outputs, after the operator ran.
  void finish(const opdump_tensor* outputs, std::size_t count) {
    opdump_end(session_, std::exchange(call_, nullptr), outputs, count, 0);
  }
  void finish(std::initializer_list<Tensor> outputs) { finish(to_c(outputs).data(), outputs.size()); }

 private:
  opdump_session* session_;
  opdump_call* call_;
};

}  // namespace opdump

#endif  // OPDUMP_OPDUMP_HPP
