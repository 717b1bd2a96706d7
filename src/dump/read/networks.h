// Which networks a dump has. What was recorded into one place at once should be one network: a rank of a tree
// with several holds several recordings that are read as one, which is a problem. Several networks of CANN's
// trees may be the models of one recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "dump/read/files/directory_walk.h"
#include "dump/read/problems.h"

namespace opdump::dump {

class Networks {
 public:
  // Notes a directory with data. Returns the name of its network; nothing if it belongs to none.
  std::string add(const StepDirectory& step);

  // The ranks whose networks are models of one recording. `problems` tells of other ranks with several
  // networks; `opened` is the dump.
  std::set<std::uint32_t> find_model_ranks(const std::filesystem::path& opened, Problems& problems) const;

 private:
  // A recording is a step in scheme (B), and all of a rank in the others.
  struct Recording {
    Scheme scheme = Scheme::rank_tree;
    std::uint32_t rank = 0;
    std::int64_t step = 0;
    auto operator<=>(const Recording&) const = default;
  };
  std::map<Recording, std::set<std::string>> networks_;  // paths below what was opened
};

}  // namespace opdump::dump
