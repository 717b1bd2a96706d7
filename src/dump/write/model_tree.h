// MindSpore's schemes (B), Ascend O2, and (C), the graph engine, mindspore.md 2.9 and 6.2:
//   {root}/acl_dump_{device}.json                                                                (B) only
//   {root}/{step}/{YYYYMMDDhhmmss}/{device}/{net_name}/{graph_id}/{step}/    (C): without the first {step}
//       {type}.{name}.{task}.{stream}.{us}                                                       bin
//       {type}.{name}.{task}.{stream}.{us}.{input|output}.{index}.{format}.{dtype}.npy           npy
//       Opdebug.Node_OpDebug.{task}.{stream}.{us}[.output.0.json]          an operator that overflowed
//       statistic.csv   mapping.csv
// Types and names hold letters, digits, '_' and '-' only: CANN's tools know no others. What is ours, status
// and operators.jsonl, lies in {root}/rank_{R} here too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dump/write/scheme_writer.h"

namespace opdump::dump {

struct ModelTreeOptions {
  std::filesystem::path root;
  std::string net_name;
  std::uint32_t rank = 0;
  std::uint32_t device = 0;
  std::vector<std::string> statistic_columns;  // as of RankTreeOptions
  // Files are .bin, each with all that an execution read and wrote (format/tensors/dump_data.h), rather than
  // .npy, each with one tensor.
  bool is_bin = false;
  bool step_first = true;      // (B) rather than (C)
  std::string time_directory;  // of when the recording began: "20260131120000"

  // What acl_dump_{device}.json says. It is there for programs that look for it; nothing here reads it.
  enum class Scene : std::uint8_t { dump, overflow, exception };
  Scene scene = Scene::dump;
  std::string dump_mode = "all";  // or "input", "output"
};

// Creates {root} and {root}/rank_{R}; a tree that exists is added to. Errors: usage, io.
Result<std::unique_ptr<SchemeWriter>> open_model_tree(ModelTreeOptions options);

}  // namespace opdump::dump
