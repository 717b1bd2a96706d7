// MindSpore's scheme (A), mindspore.md 2.1-2.7:
//   {root}/rank_{R}/{net_name}/{graph_id}/{step}/{type}.{name}.0.{stream}.{us}.{input|output}.{index}.{format}.{dtype}.npy
//                                                statistic.csv   mapping.csv
// Directories 0700, files 0400. Names over 255 bytes become a short one with a line in mapping.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dump/write/scheme_writer.h"
#include "dump/write/step_directories.h"

namespace opdump::dump {

struct RankTreeOptions {
  std::filesystem::path root;
  std::string net_name;
  std::uint32_t rank = 0;
  std::vector<std::string>
      statistic_columns;  // CSV headers in order ("Max Value", ...); see format/tables/statistic_csv.h
  bool class_name_dtypes = false;  // "Float32" as the CPU mode spells it, instead of "float32"
};

// Creates {root}/rank_{R}; an existing tree is continued as the original does (statistic.csv is appended to,
// .npy replaced). Errors: io.
Result<std::unique_ptr<SchemeWriter>> open_rank_tree(RankTreeOptions options);

// Removes the directory of a step in {root}/rank_{R}, of which nothing is being written any more, and that of
// its graph with the last one. Errors: io.
Result<> remove_step(const std::filesystem::path& rank_directory, const std::string& net_name,
                     std::int64_t graph_id, std::int64_t step);

}  // namespace opdump::dump
