// A run of a quantised model against one of the same model in floating point: operators of ONNX that quantise
// and dequantise (QDQ) lie between those of the model, and every result is rounded to a step, the scale.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"
#include "compare/pairs/quantised/quantised_integers.h"
#include "dump/read/runs.h"

namespace opdump::compare {

class Quantisation {
 public:
  static constexpr double kSteps = 2;  // by which a tensor may be off, as root mean square

  // Nothing unless one of the runs has such operators and the other none. Reads what these read and give.
  static std::optional<Quantisation> find(const dump::Runs& golden, const dump::Runs& actual);

  // Leaves out what quantises and dequantises. An operator that the quantised model lacks, because quantising
  // does the same (Relu), gets for its partner the dequantisation that its readers read.
  void arrange(std::vector<OperatorPair>& pairs, bool is_across) const;

  // Tells the slots of an operator the steps of their tensors.
  void add_steps(OperatorComparison& op) const;

  // "actual is quantised: ..."
  std::string note() const;

 private:
  using Content = QuantisedIntegers::Content;
  Quantisation(const dump::Runs& golden, const dump::Runs& actual, bool is_golden)
      : golden_(golden),
        actual_(actual),
        is_golden_(is_golden),
        integers_(is_golden ? actual : golden, is_golden ? golden : actual, is_golden) {}
  const dump::Runs& quantised() const { return is_golden_ ? golden_ : actual_; }
  const dump::Runs& whole() const { return is_golden_ ? actual_ : golden_; }
  void read_steps();
  std::map<Content, std::size_t> open_results(const std::vector<OperatorPair>& pairs,
                                              bool of_quantised) const;

  std::map<Content, std::uint32_t> quantisers() const;
  void pair_with(OperatorPair& pair, std::uint32_t dequantiser,
                 const std::map<Content, std::uint32_t>& quantisers) const;

  const dump::Runs &golden_, &actual_;
  bool is_golden_;  // the one that is quantised
  QuantisedIntegers integers_;
  std::map<Content, double> steps_;
};

// Whether a slot of an operator that has a dequantisation for its partner is what was quantised before.
bool is_quantised_input(const OperatorComparison& op, const SlotComparison& slot);

}  // namespace opdump::compare
