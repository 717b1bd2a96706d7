// Dump files as the verb `convert` reads them: every fault is logged and counted as in the original (cann.md
// 4.10).
#pragma once

#include <filesystem>
#include <optional>

#include "arrays/pieces.h"
#include "base/file/file.h"
#include "format/tensors/dump_data.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

struct DumpFile {
  std::filesystem::path path;
  std::optional<MappedFile> map;
  format::DumpData data;
  bool is_bug_compatible = false;
  bool is_nano = false;
};

// Recognises the three kinds by their bytes. A file of up to 8 bytes is logged as an error, and has no
// tensor. Failures: invalid_dump, invalid_dtype, kCrash, those of decode_header; the log has the reasons.
Outcome<DumpFile> read_dump(const std::filesystem::path& path, bool is_bug_compatible, Log& log);

// Whether there is a type of NumPy's for a dump's number, and what is said if not.
bool is_known_dtype(const DumpFile& file, std::int32_t number);
std::string unknown_dtype(const DumpFile& file, const format::DumpTensor& tensor);

// A tensor as NumPy gets to see it.
struct DumpElements {
  model::Shape shape;                            // as stated; of a dtype that is not stated, its bytes
  model::Shape shape_in_file;                    // of the array; one element for a tensor without dimensions
  arrays::Elements elements;                     // as many as there are bytes for
  model::DType dtype = model::DType::undefined;  // of the array
  bool is_empty = false;                         // a dimension is 0, and the elements are float64 therefore
  bool fits = false;                             // as many as the shape has

  void use_shape(const model::Shape& other);  // instead of the stated one
};
DumpElements elements_of(const DumpFile& file, const format::DumpTensor& tensor);

// Whether the original knows a format; it fails where it must name another.
bool is_original_format(std::int32_t number);
Status check_format(std::int32_t number, Log& log);

// The original's name of a format; ours for one that it does not know.
std::string dump_format_name(std::int32_t number);

}  // namespace opdump::msaccucmp
