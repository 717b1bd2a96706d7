// `opdump ls --wiring`: who made what operators read, and who reads what they make.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/select.h"
#include "cli/slot_facts.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

// Keeps a reference to the dump.
class WiringLists {
 public:
  // Of the operators that are listed.
  WiringLists(const dump::DumpSet& dump, const Chosen& chosen);

  // Lines without line feeds: "made by Default/relu-op0, changed by Default/copy_-op0".
  std::vector<std::string> describe(std::uint32_t run, const dump::Slot& slot) const;
  // The keys "made_by", "view" and "changed_by" of an input, "read_by" of an output.
  void add_to(Json& record, std::uint32_t run, const dump::Slot& slot) const;

 private:
  // Rank, number of the operator, step and operand index of an output.
  using Output = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::uint32_t>;
  struct Reader {
    std::uint32_t run, input;
  };
  const std::vector<Reader>& readers(std::uint32_t run, const dump::Slot& slot) const;

  const dump::Runs& runs_;
  std::map<Output, std::vector<Reader>> readers_;  // of what the listed operators make
};

}  // namespace opdump::cli
