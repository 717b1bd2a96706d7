// The elements of a model's initializers: in the file as bytes, in the file as numbers, or in another file
// beside it, which is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model_file.h"

namespace opdump::onnx {

// A file mapped read-only for as long as it lives.
class Mapping {
 public:
  // Throws Failure (OPDUMP_ERROR_IO).
  explicit Mapping(const std::filesystem::path& path);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

class Initializers {
 public:
  // `folder` is the model's, in which its external files must lie; empty if it has none.
  Initializers(const ModelFile& model, std::filesystem::path folder)
      : model_(model), folder_(std::move(folder)) {}

  // The elements of initializer `index`, aligned for their type; empty for strings. Memory stays valid as
  // long as this object. Copies only what lies at an odd address or as numbers. Throws Failure: an external
  // file that is outside of the folder, missing or too short, data that do not fit the shape. Thread-safe.
  std::span<const std::byte> find(std::size_t index);

  // Throws what find() would for any initializer, so that ONNX Runtime gets no model that lies about its
  // data. Only data that are written as numbers are not looked at.
  void check();

 private:
  std::span<const std::byte> find_external(const StoredTensor& tensor, std::uint64_t bytes);
  std::span<const std::byte> find_inside(const StoredTensor& tensor, std::uint64_t count, std::uint64_t bytes,
                                         std::vector<std::byte>& decoded);

  const ModelFile& model_;
  std::filesystem::path folder_;
  std::mutex mutex_;  // guards the rest
  std::map<std::string, std::unique_ptr<Mapping>> files_;
  std::map<std::size_t, std::span<const std::byte>> found_;
  std::map<std::size_t, std::vector<std::byte>> copies_;
};

// The product of `dims`. Throws Failure if one is negative or the tensor would have 2^60 bytes or more.
std::uint64_t element_count(std::span<const std::int64_t> dims, std::string_view name);

}  // namespace opdump::onnx
