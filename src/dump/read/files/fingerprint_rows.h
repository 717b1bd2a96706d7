// fingerprints.bin (format/tables/fingerprints.h) as slots.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file/file_identity.h"
#include "dump/read/problems.h"
#include "dump/read/slots_by_operator.h"
#include "format/tables/fingerprints.h"

namespace opdump::dump {

// A file that may still grow: what was read once is kept, and not read again.
class FingerprintFile {
 public:
  explicit FingerprintFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Reads the blocks that were added since the last time. Of a file that is cut short, the last block is left
  // out; a damaged one is, too, with those that cannot be read without it. Says so in `problems`.
  void read(Problems& problems);

  // Calls `take` with all executions, step by step, each with its graph and step.
  void add_to(SlotStore& store, const TakeExecution& take) const;

 private:
  struct Row {
    std::uint64_t time_us = 0;
    std::uint32_t slot = 0, content = 0;  // in table_
  };
  void read_blocks(std::span<const std::byte> bytes);
  void pass_over_damage(std::span<const std::byte> bytes, std::size_t& at, const std::string& why);
  void move(std::int64_t step, std::int64_t from, std::int64_t to);
  void say(std::uint64_t offset, const std::string& what);
  std::string describe_unreadable() const;

  std::filesystem::path path_;
  std::optional<FileIdentity> identity_;
  std::uint64_t offset_ = 0;  // of what was not read yet
  format::FingerprintDecoder decoder_;
  format::FingerprintTable table_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Row>> steps_;  // by step and graph
  std::vector<std::string> damages_;                                         // of what was read
  // Blocks that need a damaged one.
  struct Unreadable {
    std::uint64_t offset = 0, block_count = 0, row_count = 0;
  } unreadable_;
  std::string end_;  // what is wrong with the rest
};

// The files of a dump that is read again and again while it grows.
using FingerprintFiles = std::map<std::filesystem::path, FingerprintFile>;

}  // namespace opdump::dump
