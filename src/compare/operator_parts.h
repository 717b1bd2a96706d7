// An operator of two dumps with very many slots, some thousand of them at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/record_sorter.h"
#include "base/result.h"
#include "base/spilled_texts.h"
#include "compare/compare.h"
#include "compare/pairing.h"
#include "dump/read/slot_packer.h"

namespace opdump::compare {

// All its slots, paired, none of them measured.
OperatorComparison make_operator(const OperatorPair& pair, const dump::DumpSet& golden,
                                 const dump::DumpSet& actual);

// The same in parts of about as many slots each, in the same order.
class OperatorParts {
 public:
  // Errors: io -- there is no room to sort the slots.
  static Result<OperatorParts> make(const OperatorPair& pair, const dump::DumpSet& golden,
                                    const dump::DumpSet& actual, std::uint64_t parts);

  // To be called once for each part; the last has no more. Errors: io.
  Result<OperatorComparison> next();

 private:
  // One of the two dumps.
  struct Source {
    dump::OperatorRun head;
    std::unique_ptr<RecordSorter> slots;  // place as pair_slots has it, order, slot
    std::optional<RecordSorter::Reader> reader;
    bool has_next = false;
  };
  Result<> fill(Source& source, const dump::Runs& runs, std::uint32_t index);
  Result<> take(Source& source, std::string_view place, dump::OperatorRun& run);

  bool by_name_ = false, is_alone_ = false;
  std::string left_out_;
  Source golden_, actual_;
  dump::SlotPacker packer_;
  std::uint64_t parts_ = 0, given_ = 0, count_ = 0, taken_ = 0;  // parts; slots of both dumps
};

// Parts that have been measured, until the operator can be judged.
class MeasuredParts {
 public:
  void add(const OperatorComparison& part);
  // Calls take(part) -> Result<> with each. Errors: io, and those of `take`.
  Result<> visit(const std::function<Result<>(OperatorComparison part)>& take) const;

 private:
  OperatorComparison heads_;  // of the operator
  SpilledTexts parts_;
  dump::SlotPacker packer_;
  std::string packed_;  // kept for its memory
};

}  // namespace opdump::compare
