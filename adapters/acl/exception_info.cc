#include "exception_info.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <protozero/pbf_writer.hpp>

#include "base.h"
#include "failure.h"

namespace opdump::acl {
namespace {

namespace fs = std::filesystem;
using protozero::pbf_writer;

aclError refuse(const std::string& what) {
  return fail(ACL_ERROR_INVALID_PARAM, "EP0006: acldumpSaveExceptionInfo: " + what);
}

aclError check_tensor(const acldumpTensorInfo& tensor, std::size_t index) {
  const std::string name = "tensors[" + std::to_string(index) + "].";
  const auto limit = [&](const char* field, std::uint32_t count) {
    return refuse(name + field + " is " + std::to_string(count) + "; at most " +
                  std::to_string(ACL_DUMP_MAX_SHAPE_NUM));
  };
  if (tensor.shapeNum > ACL_DUMP_MAX_SHAPE_NUM) return limit("shapeNum", tensor.shapeNum);
  if (tensor.originShapeNum > ACL_DUMP_MAX_SHAPE_NUM) return limit("originShapeNum", tensor.originShapeNum);
  if (tensor.type < ACL_DUMP_TENSOR_INPUT || tensor.type > ACL_DUMP_TENSOR_WORKSPACE)
    return refuse(name + "type is not input, output or workspace");
  if (tensor.addrType != ACL_DUMP_ADDR_RAW) return refuse(name + "addrType must be ACL_DUMP_ADDR_RAW");
  if (tensor.placement != ACL_DUMP_PLACEMENT_DEVICE)
    return refuse(name + "placement must be ACL_DUMP_PLACEMENT_DEVICE");
  if (!tensor.tensorAddr)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0007: acldumpSaveExceptionInfo: " + name + "tensorAddr is NULL");
  return tensor.tensorSize > 0 ? ACL_SUCCESS : refuse(name + "tensorSize is 0");
}

void add_shape(pbf_writer& to, protozero::pbf_tag_type tag, const std::uint64_t* dims, std::uint32_t count) {
  pbf_writer(to, tag).add_packed_uint64(1, dims, dims + count);
}

// OpInput and OpOutput have the same fields under other numbers.
void add_tensor(pbf_writer& header, const acldumpTensorInfo& tensor, bool is_input) {
  pbf_writer to(header, is_input ? 4 : 3);
  to.add_int32(1, data_type(static_cast<aclDataType>(tensor.dataType)).dump);
  to.add_int32(2, tensor.format & 0xFF);  // above it are the groups and c0
  add_shape(to, 3, tensor.shape, tensor.shapeNum);
  to.add_uint64(is_input ? 5 : 6, tensor.tensorSize);
  add_shape(to, is_input ? 6 : 7, tensor.originShape, tensor.originShapeNum);
  to.add_int32(is_input ? 7 : 8, tensor.format >> 8 & 0xFFFF);
  to.add_uint64(is_input ? 8 : 9, reinterpret_cast<std::uintptr_t>(tensor.tensorAddr));
}

std::string encode_header(const std::string& name, const std::string& tag, std::uint64_t time_us,
                          std::span<const acldumpTensorInfo> tensors) {
  std::string message;
  pbf_writer header(message);
  header.add_string(1, "2.0");
  header.add_uint64(2, time_us);
  for (const acldumpTensorInfo& tensor : tensors) {
    if (tensor.type == ACL_DUMP_TENSOR_WORKSPACE)
      pbf_writer(header, 8).add_uint64(3, tensor.tensorSize);
    else
      add_tensor(header, tensor, tensor.type == ACL_DUMP_TENSOR_INPUT);
  }
  header.add_string(6, name);
  if (!tag.empty()) {
    pbf_writer attribute(header, 7);
    attribute.add_string(1, "user_tag");
    attribute.add_string(2, tag);
  }
  std::uint64_t length = message.size();
  std::string bytes(sizeof length, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(length & 0xFF);
    length >>= 8;
  }
  return bytes + message;
}

class File {
 public:
  explicit File(const fs::path& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool write(const void* data, std::size_t size) const {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const ssize_t written = ::write(fd_, at, size);
      if (written < 0 && errno != EINTR) return false;
      at += std::max<ssize_t>(written, 0);
      size -= static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
    return true;
  }

 private:
  int fd_;
};

bool make_directories(const fs::path& path) {
  if (path.empty() || ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  return errno == ENOENT && make_directories(path.parent_path()) &&
         (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

// "20260721153012345"
std::string format_time(std::uint64_t time_us) {
  const auto seconds = static_cast<std::time_t>(time_us / 1'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y%m%d%H%M%S", &local);
  std::snprintf(text + size, sizeof text - size, "%03u", static_cast<unsigned>(time_us / 1'000 % 1'000));
  return text;
}

bool write_file(const File& file, const std::string& header, std::span<const acldumpTensorInfo> tensors) {
  if (!file.is_open() || !file.write(header.data(), header.size())) return false;
  // The payload has all inputs, all outputs, all spaces.
  for (const auto type : {ACL_DUMP_TENSOR_INPUT, ACL_DUMP_TENSOR_OUTPUT, ACL_DUMP_TENSOR_WORKSPACE})
    for (const acldumpTensorInfo& tensor : tensors)
      if (tensor.type == type && !file.write(tensor.tensorAddr, tensor.tensorSize)) return false;
  return true;
}

}  // namespace

aclError check_exception_name(const char* name) {
  if (!name) return fail_null("acldumpSaveExceptionInfo", "fileName");
  const fs::path path = name;
  if (path.empty() || !path.has_filename()) return refuse("fileName names no file");
  if (path.is_absolute()) return refuse("fileName is absolute; expected a path below the exception dump");
  if (std::ranges::find(path, fs::path("..")) != path.end()) return refuse("fileName has a \"..\"");
  return ACL_SUCCESS;
}

aclError save_exception_info(const std::string& directory, const std::string& name, const std::string& tag,
                             std::span<const acldumpTensorInfo> tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (const aclError code = check_tensor(tensors[i], i); code != ACL_SUCCESS) return code;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto time_us =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count());
  const fs::path path = directory + name + ".custom." + format_time(time_us);
  if (make_directories(path.parent_path()) &&
      write_file(File(path), encode_header(name, tag, time_us, tensors), tensors))
    return ACL_SUCCESS;
  return fail(ACL_ERROR_FAILURE, "acldumpSaveExceptionInfo: " + path.string() + ": " + std::strerror(errno));
}

}  // namespace opdump::acl
