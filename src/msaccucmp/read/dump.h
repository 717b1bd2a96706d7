// Dump files as the verbs of msaccucmp read them: what is wrong is told and counted as there (cann.md 4.10).
#pragma once

#include <filesystem>
#include <optional>

#include "arrays/pieces.h"
#include "base/file.h"
#include "format/tensors/dump_data.h"
#include "msaccucmp/verbs/msaccucmp.h"

namespace opdump::msaccucmp {

struct DumpFile {
  std::filesystem::path path;
  std::optional<MappedFile> map;
  format::DumpData data;
  bool is_bug_compatible = false;
  bool is_nano = false;
};

struct ReadDump {
  Status status = Status::ok;
  DumpFile file;
};
// All three kinds are told apart by their bytes. A file of 8 bytes and fewer is told to be wrong, and has no
// tensor.
ReadDump read_dump(const std::filesystem::path& path, bool is_bug_compatible, Log& log);

// Whether there is a type of NumPy's for a dump's number, and what is said if not.
bool is_known_dtype(const DumpFile& file, std::int32_t number);
std::string unknown_dtype(const DumpFile& file, const format::DumpTensor& tensor);

// A tensor as NumPy gets to see it.
struct DumpElements {
  model::Shape shape;                            // as told; for a dtype that is not told, its bytes
  model::Shape shape_in_file;                    // of the array; one element for a tensor without dimensions
  arrays::Elements elements;                     // as many as there are bytes for
  model::DType dtype = model::DType::undefined;  // of the array
  bool is_empty = false;                         // a dimension is 0, and the elements are float64 therefore
  bool fits = false;                             // as many as the shape has

  void take_shape(const model::Shape& other);  // instead of the one that was told
};
DumpElements elements_of(const DumpFile& file, const format::DumpTensor& tensor);

// "(4)", "(2, 3)": a shape in the original's messages.
std::string shape_text(const model::Shape& shape);
// "1x2x3"
std::string joined_shape(const model::Shape& shape, std::string_view separator);
// "(4,)", "(2,3)": a shape in NumPy's messages.
std::string numpy_shape(const model::Shape& shape);

// What NumPy says of an array of `count` elements.
std::string cannot_reshape(std::uint64_t count, const model::Shape& shape);

// Whether the original knows a format; it fails where it must name another.
bool is_original_format(std::int32_t number);
Status check_format(std::int32_t number, Log& log);

// The original's name of a format; ours for one that it does not know.
std::string dump_format_name(std::int32_t number);

}  // namespace opdump::msaccucmp
