// One run as a graph of results: what each execution makes, and who reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compare/pairs/pairing.h"
#include "compare/pairs/results/made_tensors.h"
#include "compare/wiring/wiring.h"

namespace opdump::compare {

// Of a step, in order. What reads gradients outside of a backward pass is an update.
enum class StepPart : std::uint8_t { forward, backward, update };

struct ResultReader {
  std::uint32_t execution = 0;
  // How much of what it makes depends on the numbers that it reads here: of what it adds to or changes in
  // place, the share that it changes; else 1.
  double share = 0;
  bool is_change = false;       // in place, of a part
  bool is_of_part = false;      // it reads a part, as a row
  bool is_backward_of = false;  // a gradient need not depend on what its operator reads of the forward pass
};

struct ResultNode {
  StepPart part = StepPart::forward;
  std::vector<MadeTensor> results = {};
  std::vector<MadeTensor> state = {};   // that it reads and changes without saying so, as running statistics
  std::vector<MadeTensor> others = {};  // that it makes beside, as the statistics of a normalisation
  std::vector<ResultReader> readers = {};
  std::uint32_t partner = OperatorPair::kNone;  // that makes the same result
  bool follows_update = false;                  // it is made of what an update has changed
  bool is_for_update = false;                   // only state is made of its result
  bool feeds_step = false;                      // the forward pass of its step goes on with it
  bool begins_backward = false;                 // gradients of its result are computed
  bool has_lost_state = false;                  // that the other run does not have
  bool has_gradients = false;                   // of a pass that reads gradients: theirs are computed as well
  bool is_evaluation = false;                   // of a forward pass after the updates of its step
  bool is_layer = false;                        // it reads weights, as most operators of its kind
  bool only_moves = false;                      // its result is data, or has the elements of what it reads
  bool is_permuted = false;                     // the other run has its elements in another order alone
  bool is_lost_output = false;                  // nothing reads it, and it is a part of what is not known
  bool is_parameter = false;                    // updates change what it makes
  bool is_constant = false;                     // made of no data
  bool is_telling = false;                      // its result shows what it is made of
  bool is_coarse = false;                       // its result has a type of 16 bits or fewer
  bool is_truth = false;                        // its result is true or false
  bool is_noise = false;                        // nothing but rounding: what it is made of cancels
  bool is_noisy = false;                        // an update of noise, or of what noise has updated
  bool is_known = false;                        // the other run has all its results
  bool is_doubtful = false;                     // the other run has it, but updates it otherwise
  double change = 1;           // of weights and other state that it changes in place, as a distance of prints
  bool is_negligible = false;  // it makes less than rounding of all that is made of it
  bool leads_to_known = false, is_lost = false, reads_lost = false;
};

class ResultGraph {
 public:
  // Reads all tensors of the run, with `threads` threads. `wiring` must outlive this.
  ResultGraph(const Wiring& wiring, unsigned threads);

  const dump::Runs& runs() const { return wiring_.runs(); }
  std::span<ResultNode> nodes() { return nodes_; }
  std::span<const ResultNode> nodes() const { return nodes_; }
  const MadeByRun& made() const { return made_; }
  std::int64_t step_of(std::uint32_t execution) const { return runs().section_of(execution).step; }

  // The part of its step, where what only state is made of is an update. Known after find_lost().
  StepPart part_of(std::uint32_t execution) const;
  const PrintTolerance& tolerance_of(std::uint32_t execution) const;

  // Whether gradients are computed at all.
  bool trains() const { return !losses_.empty(); }

  // Whether gradients are computed behind an execution in its step.
  bool has_loss(std::uint32_t execution) const;

  // Where the program calls it: "train.py:31", or its name if the recording does not say.
  std::string source_of(std::uint32_t execution) const;

  // That, and its type.
  std::pair<std::string, std::string> line_of(std::uint32_t execution) const;

  // "`add_` at train.py:31", or its name alone.
  std::string describe(std::uint32_t execution) const;

 private:
  void read(std::uint32_t execution);
  void find_gradient_passes();
  void find_readers(std::uint32_t execution);
  void find_noise(std::uint32_t execution, const dump::OperatorRun& run);
  StepPart find_part(std::uint32_t execution, const dump::OperatorRun& run);
  std::vector<std::uint32_t> writers(std::uint32_t execution, std::uint32_t input) const;
  bool is_made_here(std::uint32_t execution, std::uint32_t input) const;
  bool updates_state(std::uint32_t execution);
  bool is_state(std::uint32_t execution, std::uint32_t input) const;
  double change_of(std::uint32_t execution) const;
  std::uint64_t count_read(std::uint32_t execution, const dump::Slot& input) const;
  double share_of(std::uint32_t execution, std::uint32_t input) const;
  bool has_few_values(std::uint32_t execution) const;
  bool is_cancelled(std::uint32_t execution, const dump::OperatorRun& run) const;

  const Wiring& wiring_;
  std::vector<ResultNode> nodes_;  // by execution
  MadeByRun made_;
  std::map<std::int64_t, std::uint32_t> losses_;  // the last of each step of which gradients are computed
  std::set<std::uint32_t> state_;                 // executions that change state in place
};

}  // namespace opdump::compare
