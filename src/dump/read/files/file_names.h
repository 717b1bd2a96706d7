// The names of the files of a directory, of which there may be very many, and what they were called before
// their names were too long.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_arena.h"
#include "dump/read/original_names.h"

namespace opdump::dump {

class FileNames {
 public:
  // `is_dump_file`: it is one whatever it is called.
  void add(std::string_view name, bool is_dump_file = false);
  // Whether one of them makes a directory a step directory.
  bool have_dump_file() const { return has_dump_file_; }
  bool have_mapping() const { return has_mapping_; }        // mapping.csv
  bool have_statistics() const { return has_statistics_; }  // statistic.csv

  bool have_fingerprints() const { return has_fingerprints_; }  // fingerprints.bin
  bool have_msprobe() const { return has_msprobe_; }            // dump.json, debug.json

  // What a file was called, if there is one of that name.
  void add_original(std::string_view name, std::string_view original) { originals_.add(name, original); }

  // Calls `take` with each name in order, and what the file was called: the original that was added last, or
  // else its name. Call it once.
  using Take = std::function<void(const std::string& name, const std::string& original)>;
  void drain(const Take& take);

 private:
  TextArena texts_;
  std::vector<ArenaText> names_;
  OriginalNames originals_;
  bool has_dump_file_ = false, has_mapping_ = false, has_statistics_ = false, has_msprobe_ = false;
  bool has_fingerprints_ = false;
};

}  // namespace opdump::dump
