#include "initializers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <system_error>

#include "dtypes.h"
#include "failure.h"
#include "fields.h"

namespace opdump::onnx {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const StoredTensor& tensor, const std::string& why) {
  throw Failure("initializer " + std::string(tensor.name) + ": " + why);
}

// Elements written as numbers, one after the other. Narrow types travel in int32_data, one number an element.
class Numbers {
 public:
  Numbers(const StoredTensor& tensor, std::uint64_t bytes, std::vector<std::byte>& to)
      : tensor_(tensor), bytes_(bytes), to_(to) {}

  template <typename T>
  void add(T number) {
    add_bytes(&number, sizeof number);
  }
  void add_narrow(std::int32_t number, std::uint32_t bits) {
    add_bytes(&number, bits >= 32 ? 4 : bits >= 16 ? 2 : 1);
  }

 private:
  void add_bytes(const void* from, std::size_t count) {
    if (to_.size() + count > bytes_) refuse(tensor_, "it has more elements than its shape says");
    const auto* bytes = static_cast<const std::byte*>(from);
    to_.insert(to_.end(), bytes, bytes + count);
  }
  const StoredTensor& tensor_;
  std::uint64_t bytes_;
  std::vector<std::byte>& to_;
};

void read_numbers(protozero::pbf_reader& message, const ElementType& type, Numbers& numbers) {
  const bool packed = message.wire_type() == protozero::pbf_wire_type::length_delimited;
  switch (message.tag()) {
    case 4:
      if (!packed) return numbers.add(float_of(message));
      for (const float number : message.get_packed_float()) numbers.add(number);
      return;
    case 5:
      if (!packed) return numbers.add_narrow(static_cast<std::int32_t>(integer_of(message)), type.bits);
      for (const std::int32_t number : message.get_packed_int32()) numbers.add_narrow(number, type.bits);
      return;
    case 7:
      if (!packed) return numbers.add(integer_of(message));
      for (const std::int64_t number : message.get_packed_int64()) numbers.add(number);
      return;
    case 10:
      if (!packed) return numbers.add(double_of(message));
      for (const double number : message.get_packed_double()) numbers.add(number);
      return;
    default: {  // 11: uint32 and uint64
      const auto add = [&](std::uint64_t number) {
        if (type.bits == 32) return numbers.add(static_cast<std::uint32_t>(number));
        numbers.add(number);
      };
      if (!packed) return add(static_cast<std::uint64_t>(integer_of(message)));
      for (const std::uint64_t number : message.get_packed_uint64()) add(number);
    }
  }
}

std::size_t alignment_of(const ElementType& type) {
  return type.bits >= 64 ? 8 : type.bits >= 16 ? type.bits / 8 : 1;
}

}  // namespace

Mapping::Mapping(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) {
    const std::string text = std::generic_category().message(errno);
    if (fd >= 0) ::close(fd);
    throw Failure(path.string() + ": " + text, OPDUMP_ERROR_IO);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    throw Failure(path.string() + ": not a regular file", OPDUMP_ERROR_IO);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapped = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) throw Failure(path.string() + ": cannot be mapped", OPDUMP_ERROR_IO);
  bytes_ = {static_cast<const std::byte*>(mapped), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::uint64_t element_count(std::span<const std::int64_t> dims, std::string_view name) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 56;  // elements; at most 16 bytes each
  std::uint64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw Failure(std::string(name) + ": a dimension of " + std::to_string(dim));
    if (dim == 0) is_empty = true;
    if (dim > 0 && count > kLimit / static_cast<std::uint64_t>(dim))
      throw Failure(std::string(name) + ": its shape has more elements than any memory");
    if (dim > 0) count *= static_cast<std::uint64_t>(dim);
  }
  return is_empty ? 0 : count;
}

std::span<const std::byte> Initializers::find_external(const StoredTensor& tensor, std::uint64_t bytes) {
  const std::string& location = tensor.external.location;
  if (folder_.empty()) refuse(tensor, "its data are in another file, but the model came from memory");
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(folder_, error);
  const fs::path path = fs::weakly_canonical(folder / location, error);
  // Links are followed first: what counts is the file that would be read.
  const auto [end, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (location.empty() || fs::path(location).is_absolute() || end != folder.end() || path == folder)
    refuse(tensor, "its data are in '" + location + "', outside of the model's folder");
  auto& file = files_[path.string()];
  if (!file) file = std::make_unique<Mapping>(path);
  const std::uint64_t size = file->bytes().size(), offset = tensor.external.offset;
  const std::uint64_t length = tensor.external.has_length ? tensor.external.length : bytes;
  if (length != bytes)
    refuse(tensor,
           std::to_string(length) + " bytes in " + location + "; its shape needs " + std::to_string(bytes));
  if (offset > size || bytes > size - offset)
    refuse(tensor, location + " has " + std::to_string(size) + " bytes; " + std::to_string(bytes) + " from " +
                       std::to_string(offset) + " on are needed");
  return file->bytes().subspan(offset, bytes);
}

std::span<const std::byte> Initializers::find_inside(const StoredTensor& tensor, std::uint64_t count,
                                                     std::uint64_t bytes, std::vector<std::byte>& decoded) {
  const ElementType& type = element_type(tensor.element_type);
  std::span<const std::byte> raw;
  Numbers numbers(tensor, bytes, decoded);
  protozero::pbf_reader message(tensor.message.data(), tensor.message.size());
  while (message.next()) {
    const auto tag = message.tag();
    if (tag == 9) {
      const std::string_view view = text_of(message);
      raw = {reinterpret_cast<const std::byte*>(view.data()), view.size()};
    } else if (tag == 4 || tag == 5 || tag == 7 || tag == 10 || tag == 11) {
      read_numbers(message, type, numbers);
    } else {
      message.skip();
    }
  }
  const std::uint64_t found = raw.empty() ? decoded.size() : raw.size();
  if (found != bytes)
    refuse(tensor, std::to_string(found) + " bytes of data; its " + std::to_string(count) +
                       " elements need " + std::to_string(bytes));
  return raw;
}

void Initializers::check() {
  for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
    const StoredTensor& tensor = model_.initializers[i];
    const std::uint64_t bytes =
        byte_count(element_type(tensor.element_type), element_count(tensor.dims, tensor.name));
    if (tensor.is_external) {
      find(i);
      continue;
    }
    protozero::pbf_reader message(tensor.message.data(), tensor.message.size());
    if (!message.next(9) || element_type(tensor.element_type).bits == 0) continue;
    if (const std::size_t found = text_of(message).size(); found > 0 && found != bytes)
      refuse(tensor, std::to_string(found) + " bytes of data; its shape needs " + std::to_string(bytes));
  }
}

std::span<const std::byte> Initializers::find(std::size_t index) {
  const std::lock_guard lock(mutex_);
  if (const auto known = found_.find(index); known != found_.end()) return known->second;
  const StoredTensor& tensor = model_.initializers[index];
  const ElementType& type = element_type(tensor.element_type);
  if (type.bits == 0) return {};
  const std::uint64_t count = element_count(tensor.dims, tensor.name), bytes = byte_count(type, count);
  std::vector<std::byte> decoded;
  std::span<const std::byte> data;
  try {
    data = tensor.is_external ? find_external(tensor, bytes) : find_inside(tensor, count, bytes, decoded);
  } catch (const protozero::exception& error) {
    refuse(tensor, error.what());
  }
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data.data()) % alignment_of(type) == 0;
  if (data.empty() || !is_aligned) {
    if (!data.empty()) decoded.assign(data.begin(), data.end());
    data = copies_[index] = std::move(decoded);
  }
  found_[index] = data;
  return data;
}

}  // namespace opdump::onnx
