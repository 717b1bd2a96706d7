// Where what operators read comes from, in the order of the walk: an operator before them, or none, and then
// it is to blame.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "blame/finding_log.h"
#include "blame/inputs/copies.h"
#include "blame/suspects.h"
#include "compare/wiring/content.h"
#include "compare/wiring/wiring.h"
#include "dump/read/runs.h"

namespace opdump::blame {

class InputSearch {
 public:
  // `lacks_gradients`: compiled regions have a backward pass that is not recorded.
  InputSearch(const dump::Runs& golden, const dump::Runs& actual, std::uint32_t threads, bool lacks_gradients,
              const Suspects& suspects, FindingLog& findings)
      : golden_(golden),
        actual_(actual),
        actual_wiring_(actual),
        lacks_gradients_(lacks_gradients),
        suspects_(suspects),
        findings_(findings),
        copies_(actual),
        produced_(threads) {}

  // Which operators suspect `i` reads from, and, if `blames`, whether an input comes from none.
  void look(std::uint32_t i, bool blames);
  // What actual made and golden did not.
  void note_outputs(std::uint32_t i);
  // Only one side has it.
  void note_single(std::uint32_t i) { singles_.push_back(i); }

  bool lacks_gradients() const { return lacks_gradients_; }
  // Data of other shapes goes into the run: nothing else can be compared.
  bool have_other_shapes() const { return have_other_shapes_; }
  // Those whose outputs another one reads, after the first culprit.
  const std::set<std::uint32_t>& read() const { return read_; }
  const std::vector<std::uint32_t>& singles() const { return singles_; }
  // Returns the first single of actual that made what an operator of both runs reads, which differs by much.
  std::optional<std::uint32_t> feeder() const { return feeder_; }
  // An operator that reads what another one made than in golden.
  struct Rewired {
    std::string slot, maker, golden_maker;
    std::string describe() const {
      return "given what " + maker + " made as " + slot + ", in golden what " + golden_maker + " made";
    }
  };
  const std::map<std::uint32_t, Rewired>& rewired() const { return rewired_; }
  // The first one that reads of these two: a backward pass reads what its forward operators read.
  std::uint32_t first_alike(std::uint32_t rewired) const;

 private:
  using Elements = std::vector<std::uint64_t>;

  bool blame_copied_data(std::uint32_t i, const compare::SlotComparison& slot, std::uint32_t copy);
  void note_feeder(const compare::OperatorComparison& reader, std::uint32_t producer);
  std::optional<std::string> find_base(const dump::OperatorRun& reader, std::uint32_t input) const;
  void blame_other_maker(std::uint32_t i, const compare::SlotComparison& slot, const std::string& other,
                         const std::string& made_by);
  void blame_input(std::uint32_t i, const compare::SlotComparison& slot, const Elements& golden,
                   const Elements& actual, const std::optional<dump::OperatorRun>& maker);
  bool comes_after_a_gap(const compare::OperatorComparison& reader) const;
  bool may_be_gradient() const;
  void blame_shape(std::uint32_t i, const compare::SlotComparison& slot, const Elements& golden,
                   const Elements& actual, const std::optional<dump::OperatorRun>& maker);
  void note_later_maker(std::uint32_t i, const compare::SlotComparison& slot, const Elements& golden,
                        std::uint32_t producer);
  bool note_other_maker(std::uint32_t i, const compare::SlotComparison& slot, const Elements& golden,
                        const dump::OperatorRun& maker);
  bool may_be_unseen(const dump::OperatorRun& producer) const;
  bool blame_single(std::uint32_t i, const dump::OperatorRun& producer);
  std::string describe_view(std::uint32_t i) const;
  std::optional<std::uint32_t> find_single(const dump::OperatorRun& run) const;
  std::uint32_t find_copied(std::uint32_t copy) const;

  const dump::Runs &golden_, &actual_;
  compare::Wiring actual_wiring_;
  bool lacks_gradients_;
  const Suspects& suspects_;
  FindingLog& findings_;
  Copies copies_;
  compare::ContentIndex produced_;  // outputs of actual that differ, by their place among suspects
  bool produced_nothing_ = true;
  bool have_other_shapes_ = false;
  std::set<std::uint32_t> read_;
  std::vector<std::uint32_t> singles_;
  std::optional<std::uint32_t> feeder_;
  std::map<std::uint32_t, Rewired> rewired_;
};

}  // namespace opdump::blame
