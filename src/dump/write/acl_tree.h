// CANN's own scheme, cann.md 3.2:
//   {root}/{YYYYMMDDhhmmss}/{device}/[{model_name}/{model_id}/{data_index}/]
//       {type}.{name}.{task}.{stream}.{us}          an execution: DumpData container; .csv: its statistics
//       Opdebug.Node_OpDebug.{task}.{stream}.{us}   an operator that overflowed
//       mapping.csv                                 {hash},{name} of names too long for the file system
//   {root}/extra-info/data-dump/{device}/exception_info.{task}.{stream}.{us}
// Operators of no model (graph_id -1) lie in {device}/. Blanks, '.', '/' and '\' in names become '_'. What is
// ours, status and operators.jsonl, lies in {root}/rank_{R}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dump/write/scheme_writer.h"
#include "format/tables/acl_statistic_csv.h"
#include "model/format.h"

namespace opdump::dump {

struct AclTreeOptions {
  std::filesystem::path root;
  std::uint32_t rank = 0;
  std::uint32_t device = 0;
  std::string time_directory;  // of when the recording began: "20260131120000"
  bool statistics = false;     // files of statistics rather than of tensors
  format::AclStatisticColumns columns;
  bool exceptions = false;  // what is written are the inputs of operators that failed
  bool newer_overflow_record = false;
  std::vector<model::Format> device_formats;  // tensors are stored in the first one that fits
  FileSink sink;                              // receives the files instead of the disk
};

// Creates {root} and {root}/rank_{R}, unless there is a sink. Errors: io.
Result<std::unique_ptr<SchemeWriter>> open_acl_tree(AclTreeOptions options);

}  // namespace opdump::dump
