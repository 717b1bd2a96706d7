// C++ wrappers for opdump_read.h: dumps, operators, slots and comparisons as values. Header only, no
// exceptions: what can fail converts to false, and error() says why.
#ifndef OPDUMP_OPDUMP_READ_HPP
#define OPDUMP_OPDUMP_READ_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "opdump/opdump_read.h"

namespace opdump {

// The elements of a slot. A view of the file where that is possible; valid as long as this object or a copy.
class Elements {
 public:
  explicit operator bool() const { return elements_ != nullptr; }
  const std::string& error() const { return error_; }  // why there are none
  // dtype, shape, strides (counted in elements) and data. Elements in Fortran order have strides.
  const opdump_tensor& tensor() const { return tensor_; }
  std::size_t count() const {
    std::size_t all = 1;
    for (std::uint32_t i = 0; i < tensor_.rank; ++i) all *= static_cast<std::size_t>(tensor_.shape[i]);
    return elements_ ? all : 0;
  }
  // The first element. T must be the type of tensor().dtype.
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(tensor_.data);
  }

 private:
  friend class Slot;
  Elements() { tensor_.size = sizeof tensor_; }
  std::shared_ptr<opdump_elements> elements_;
  opdump_tensor tensor_ = opdump_tensor();
  std::string error_;
};

// One recorded tensor of one execution. Valid as long as its dump.
class Slot {
 public:
  const char* name() const { return slot_.name; }  // "input.0"
  opdump_dtype dtype() const { return static_cast<opdump_dtype>(slot_.dtype); }
  std::vector<std::int64_t> shape() const {
    return slot_.shape ? std::vector<std::int64_t>(slot_.shape, slot_.shape + slot_.rank)
                       : std::vector<std::int64_t>();
  }
  bool is_output() const { return slot_.is_output != 0; }
  bool has_elements() const { return slot_.file != nullptr; }
  const opdump_slot& get() const { return slot_; }
  Elements elements() const {
    Elements read;
    opdump_elements* elements = nullptr;
    if (opdump_elements_read(dump_, operator_, number_, &elements, &read.tensor_) != OPDUMP_OK)
      read.error_ = opdump_read_error();
    else
      read.elements_.reset(elements, opdump_elements_free);
    return read;
  }

 private:
  friend class Operator;
  Slot(const opdump_dump* dump, std::size_t op, std::size_t number)
      : dump_(dump), operator_(op), number_(number), slot_() {
    slot_.size = sizeof slot_;
    opdump_dump_slot(dump, op, number, &slot_);
  }
  const opdump_dump* dump_;
  std::size_t operator_, number_;
  opdump_slot slot_;
};

// One execution of an operator. Valid as long as its dump.
class Operator {
 public:
  const char* name() const { return operator_.name; }
  const char* type() const { return operator_.type; }
  const char* source() const { return operator_.source; }  // may be null
  std::uint32_t rank() const { return operator_.rank; }
  std::int64_t step() const { return operator_.step; }
  const opdump_operator& get() const { return operator_; }
  std::vector<Slot> slots() const {
    std::vector<Slot> all;
    for (std::size_t i = 0; i < operator_.slot_count; ++i) all.push_back(Slot(dump_, number_, i));
    return all;
  }

 private:
  friend class Dump;
  Operator(const opdump_dump* dump, std::size_t number) : dump_(dump), number_(number), operator_() {
    operator_.size = sizeof operator_;
    opdump_dump_operator(dump, number, &operator_);
  }
  const opdump_dump* dump_;
  std::size_t number_;
  opdump_operator operator_;
};

// A dump on disk, of any supported tool. Copies share it.
class Dump {
 public:
  explicit Dump(const std::string& path) {
    opdump_dump* dump = nullptr;
    if (opdump_dump_open(path.c_str(), &dump) != OPDUMP_OK)
      error_ = opdump_read_error();
    else
      dump_.reset(dump, opdump_dump_close);
  }
  explicit operator bool() const { return dump_ != nullptr; }
  const std::string& error() const { return error_; }
  std::size_t size() const { return opdump_dump_operator_count(get()); }           // executions
  Operator operator[](std::size_t index) const { return Operator(get(), index); }  // index < size()
  std::vector<Operator> operators() const {
    std::vector<Operator> all;
    for (std::size_t i = 0; i < size(); ++i) all.push_back((*this)[i]);
    return all;
  }
  std::vector<std::string> problems() const {  // files that could not be used
    std::vector<std::string> all;
    while (const char* problem = opdump_dump_problem(get(), all.size())) all.push_back(problem);
    return all;
  }
  const opdump_dump* get() const { return dump_.get(); }

 private:
  std::shared_ptr<opdump_dump> dump_;
  std::string error_;
};

// The comparison of two dumps. Copies share it.
class Comparison {
 public:
  explicit operator bool() const { return comparison_ != nullptr; }
  const std::string& error() const { return error_; }
  opdump_outcome outcome() const { return opdump_comparison_outcome(comparison_.get()); }
  std::string conclusion() const { return opdump_comparison_conclusion(comparison_.get()); }
  // The finding that the conclusion names; its name is null if there is none.
  opdump_finding first_bad() const { return finding(opdump_comparison_first_bad(comparison_.get())); }
  std::vector<opdump_finding> findings() const {
    std::vector<opdump_finding> all;
    for (std::size_t i = 0; i < opdump_comparison_finding_count(comparison_.get()); ++i)
      all.push_back(finding(i));
    return all;
  }

 private:
  friend Comparison compare(const Dump& golden, const Dump& actual, const opdump_compare_options* options);
  opdump_finding finding(std::size_t index) const {
    opdump_finding found = opdump_finding();
    found.size = sizeof found;
    opdump_comparison_finding(comparison_.get(), index, &found);
    return found;
  }
  std::shared_ptr<opdump_comparison> comparison_;
  std::string error_;
};

// Compares two dumps, as `opdump compare` does.
inline Comparison compare(const Dump& golden, const Dump& actual,
                          const opdump_compare_options* options = nullptr) {
  Comparison result;
  opdump_comparison* comparison = nullptr;
  if (opdump_compare(golden.get(), actual.get(), options, &comparison) != OPDUMP_OK)
    result.error_ = opdump_read_error();
  else
    result.comparison_.reset(comparison, opdump_comparison_close);
  return result;
}

}  // namespace opdump

#endif  // OPDUMP_OPDUMP_READ_HPP
