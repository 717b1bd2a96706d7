// Inputs for the execution of models: .npy files or pseudo-random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/result.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::cli {

// An input declared by a model.
struct InputSlot {
  std::string name;
  model::DType dtype = model::DType::undefined;
  bool has_shape = false;
  std::vector<std::int64_t> dims;  // -1: any
};

// The value of an input, row-major.
struct InputValue {
  model::Shape shape;
  std::span<const std::byte> bytes;
  std::optional<MappedFile> file;  // that bytes lie in, or
  std::vector<std::byte> memory;
};

// The source of input values. The k-th file of an input is for the k-th execution; a single file is used for
// all executions.
class InputSource {
 public:
  // `pairs` are NAME=FILE.npy; `folder` holds NAME.npy, or folders 0, 1, ... with NAME.npy for each
  // execution. Errors: usage, not_found.
  static Result<InputSource> make(const std::vector<std::string>& pairs, const std::string& folder,
                                  std::optional<std::uint64_t> seed);

  // The number of executions that there are files for; 1 if unknown.
  std::size_t execution_count() const;

  // True if the input has no file and is generated.
  bool is_random(const std::string& name) const { return seed_ && !files_.contains(name); }

  // Names of inputs with files.
  std::vector<std::string> names() const;

  // Errors: usage (there is none, or its dtype or shape is not the input's), and those of reading the file.
  Result<InputValue> value(const InputSlot& slot, std::size_t execution) const;

 private:
  Result<> add_pair(const std::string& pair);
  Result<> add_folder(const std::filesystem::path& folder);

  std::map<std::string, std::vector<std::filesystem::path>> files_;
  std::optional<std::uint64_t> seed_;
};

// Elements of `dtype` determined by `seed` alone: floats in [0, 1) (those of 16 bits in [0.5, 1)),
// integers 0 or 1. Errors: unsupported -- a dtype without such numbers.
Result<std::vector<std::byte>> random_elements(model::DType dtype, std::uint64_t count, std::uint64_t seed);

}  // namespace opdump::cli
