// Quantised models that compute with integers (QLinearConv, MatMulInteger), as ONNX Runtime's tools write
// them: an integer q stands for (q - zero) * scale, which operators that read it have as inputs. An operator
// bears the name of the one in floating point, and "_quant" behind it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"
#include "dump/read/runs.h"

namespace opdump::compare {

class QuantisedIntegers {
 public:
  struct Levels {
    double scale = 0, zero = 0;
  };
  using Content = std::pair<std::uint64_t, std::uint64_t>;  // Fingerprint

  // Reads the scales that operators of `quantised` have as inputs.
  QuantisedIntegers(const dump::Runs& whole, const dump::Runs& quantised, bool is_golden);

  // Returns the scale and zero that stand beside a tensor of `run`, or beside the same integers elsewhere.
  // Nothing if no operator has them, or if the tensor has several scales.
  std::optional<Levels> find(const dump::OperatorRun& run, const dump::Slot& slot) const;

  // Pairs what has no partner by names. What computes with integers alone, as MatMulInteger, is joined with
  // the multiplication by its scales; an activation that quantising does, too, with the operator before it;
  // what an engine made one of in one run only, in the other run.
  void pair_by_names(std::vector<OperatorPair>& pairs) const;

  // Keeps only the inputs that the other run has, too: QLinearConv reads scales between them.
  void pair_operands(OperatorComparison& op) const;

 private:
  std::uint32_t& whole_of(OperatorPair& pair) const { return is_golden_ ? pair.actual : pair.golden; }
  std::uint32_t& quantised_of(OperatorPair& pair) const { return is_golden_ ? pair.golden : pair.actual; }
  std::uint32_t& first_whole_of(OperatorPair& pair) const {
    return is_golden_ ? pair.actual_first : pair.golden_first;
  }
  std::uint32_t& first_quantised_of(OperatorPair& pair) const {
    return is_golden_ ? pair.golden_first : pair.actual_first;
  }
  void read_levels();
  void carry(std::uint32_t index);
  void join_parts(std::vector<OperatorPair>& pairs, std::vector<bool>& is_gone) const;
  void join_fused(std::vector<OperatorPair>& pairs, std::vector<bool>& is_gone) const;
  static bool belongs_to_the_one_before(const dump::OperatorRun& run, bool is_whole);
  void join_followers(std::vector<OperatorPair>& pairs, const std::vector<std::size_t>& found, bool is_whole,
                      std::vector<bool>& is_gone) const;

  const dump::Runs &whole_, &quantised_;
  bool is_golden_;  // the one that is quantised
  std::map<Content, Levels> levels_;
};

std::optional<QuantisedIntegers::Content> content_of(const dump::Slot& slot);

}  // namespace opdump::compare
