// How far each element of a tensor may be off by rounding alone, followed through the operators that made it.
// Of a gradient that is zero but for rounding no digit is certain, and an optimizer divides by its size: the
// parameter makes a whole step in any direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "compare/pairs/pairing.h"
#include "compare/wiring/wiring.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Of a tensor of floating numbers, row by row; nothing of others.
std::optional<std::vector<double>> numbers_of(const dump::Slot& slot);

// A tensor that operators of both runs make, and that differs by rounding, is off by as much as the two
// differ. One that is what is left of a sum is off by the rounding of its terms, and one that operators
// compute element by element by what they make of the bounds of what they read. Nothing else is followed. A
// tensor that no operator made is exact.
class ErrorBounds {
 public:
  using Elements = std::vector<float>;  // absolute, row by row

  ErrorBounds(const Wiring& golden, const Wiring& actual, std::span<const OperatorPair> pairs);

  // What is known of the pair at `place`.
  enum class State : std::uint8_t {
    unseen,
    open,      // it may be wrong
    settled,   // right within rounding, and not all of its outputs were compared
    matching,  // its outputs are within a tolerance, of which an absolute one may hide all of a small number
    rounding   // its outputs differ by rounding
  };
  void set(std::size_t place, State state) { states_[place] = state; }

  // Of what an execution reads; null where it is not known. `noise`: the relative L2 distance that rounding
  // has made of tensors so far.
  std::shared_ptr<const Elements> of_input(bool is_golden, std::uint32_t reader, const dump::Slot& input,
                                           double noise);
  // Of what an execution makes.
  std::shared_ptr<const Elements> of_output(bool is_golden, std::uint32_t run, const dump::Slot& output,
                                            double noise);

  // Whether two tensors, an input of both executions of the pair at `place`, differ by no more than they are
  // off. False where that is not known.
  bool explain_input(std::size_t place, const dump::Slot& golden, const dump::Slot& actual, double noise);

 private:
  using Bounds = std::shared_ptr<const Elements>;
  struct OfRun {
    const Wiring* wiring = nullptr;
    std::map<std::uint32_t, std::size_t> places;  // in pairs, by execution
  };
  const OfRun& of(bool is_golden) const { return is_golden ? golden_ : actual_; }
  // In the pairs; null where it is in none.
  const std::size_t* place_of(bool is_golden, std::uint32_t run);
  bool is_followed(bool is_golden, std::uint32_t run);
  std::optional<std::uint32_t> maker_of(bool is_golden, std::uint32_t reader, const dump::Slot& input) const;
  Bounds measure(std::size_t place, const dump::Slot& output, double noise, Bounds own);
  Bounds compute(bool is_golden, std::uint32_t run, const dump::Slot& output, double noise);
  Bounds compute_elementwise(bool is_golden, std::uint32_t run, const dump::OperatorRun& op,
                             const dump::Slot& output, double noise);

  std::span<const OperatorPair> pairs_;
  std::vector<State> states_;  // of the pairs
  OfRun golden_, actual_;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, Bounds> known_;  // by run, execution and output
  std::uint64_t room_ = 1 << 26;                                            // for elements that are read
  unsigned depth_ = 0;
};

}  // namespace opdump::compare
