// Modules that lie elsewhere in the other run: in a wrapper (DataParallel, DistributedDataParallel, FSDP, a
// compiled or an averaged model, PEFT, Lightning), or under another name; and modules of another class in the
// same place.
//
//   golden   Default/0-Linear/addmm-op0
//   actual   Default/module-Sequential/0-Linear/addmm-op0      the root of golden is `module` in actual
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/read/runs.h"

namespace opdump::compare {

class MovedModules {
 public:
  // Looks at the names of all operators. A place in golden and one in actual are the same if the modules
  // below them that only one run has carry the same names, and their operators are mostly of the same types.
  static MovedModules find(const dump::Runs& golden, const dump::Runs& actual);

  bool empty() const { return moves_.empty() && spellings_.empty(); }
  // "the root of golden is `module` of actual: 3 modules are paired so",
  // "`layer.0.attention` is an EagerAttention in golden and a FlashAttention in actual"
  std::vector<std::string> notes() const;

  // The name of an operator with the place of its module in golden, and its class there; the side that lies
  // deeper is renamed. Nothing if its module is called the same in both runs.
  enum class RunSide : std::uint8_t { golden, actual };
  std::optional<std::string> rename(std::string_view name, RunSide side) const;

 private:
  // Places by the names of modules without their classes, "" for the root; `to` as names spell it.
  struct Move {
    RunSide side = RunSide::actual;  // whose names are changed
    std::string from, to;            // "module", ""
    std::string spelt = {};          // of `to`: "encoder-Encoder"
    std::uint64_t modules = 0;       // that are paired by it
  };
  // What is left of the moved modules of a name: "fc-Linear" of "module-Net/fc-Linear".
  std::string after_moves(std::string_view modules, RunSide side) const;
  std::vector<Move> moves_;
  // Of golden, by path: of modules that are of another class in actual, or in one that is.
  std::map<std::string, std::string, std::less<>> spellings_;
  std::vector<std::string> other_classes_;  // in words
};

}  // namespace opdump::compare
