// What lies between a quantisation and its inverse has no counterpart in the original model (cann.md 4.5).
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "msaccucmp/judge/fusion_rules.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::FusionOp;
using format::FusionOutput;

// As Caffe, TensorFlow and ONNX models call what the quantising tools add.
constexpr std::array<std::string_view, 5> kQuantNames = {"_quant_layer", "/AscendQuant", "/AscendWeightQuant",
                                                         ".quant", ".weight_quant"};
constexpr std::array<std::string_view, 6> kDequantNames = {
    "_dequant_layer", "_anti_quant_layer", "/AscendDequant", "/AntiQuant", ".dequant", ".anti_quant"};

enum class QuantKind : std::uint8_t { normal, middle, quant, inverse };

template <std::size_t N>
bool holds_one_of(const FusionOp& op, const std::array<std::string_view, N>& words) {
  const std::string originals = join(op.original_names, "");
  for (const std::string_view word : words)
    if (op.name.find(word) != std::string::npos || originals.find(word) != std::string::npos) return true;
  return false;
}

std::optional<QuantKind> kind_of(const FusionOutput& output, bool quant, bool inverse, QuantKind otherwise) {
  if (!quant && !inverse) return otherwise;
  if (quant && output.dtype == "DT_INT8") return QuantKind::quant;
  if (inverse && output.dtype == "DT_FLOAT16") return QuantKind::inverse;
  return std::nullopt;
}

class QuantFilter {
 public:
  QuantFilter(const InternedTexts& names, Log& log) : names_(names), log_(log) {}

  bool is_filtered(const FusionOp& op) {
    const bool quant = holds_one_of(op, kQuantNames), inverse = holds_one_of(op, kDequantNames);
    const bool between = is_between(op);
    const QuantKind otherwise = between ? QuantKind::middle : QuantKind::normal;
    const Outputs outputs{static_cast<std::uint32_t>(kinds_.size()),
                          static_cast<std::uint32_t>(op.outputs.size())};
    bool ends = true;
    for (const FusionOutput& output : op.outputs) {
      const auto kind = kind_of(output, quant, inverse, otherwise);
      if (!kind)
        log_.warn("[" + op.name +
                  "] this op looks like a quantization op, but it does not have proper output type");
      kinds_.push_back(kind.value_or(otherwise));
      ends = ends && kind.value_or(otherwise) == QuantKind::inverse;
    }
    outputs_.resize(names_.size());
    outputs_[*names_.find(op.name)] = outputs;
    return between && !ends;
  }

 private:
  struct Outputs {  // of an operator, in kinds_
    std::uint32_t begin = 0, count = 0;
  };

  // True if an input is quantised.
  bool is_between(const FusionOp& op) const {
    for (const std::string& input : op.inputs) {
      const std::size_t colon = input.rfind(':');
      if (colon == std::string::npos) continue;
      const std::string_view name = std::string_view(input).substr(0, colon);
      const auto index = parse_uint64(std::string_view(input).substr(colon + 1));
      if (!index) {
        log_.warn("[" + op.name + "] the input operator of op with index " + input + " is invalid.");
        continue;
      }
      const auto kind = kind_at(name, *index);
      if (!kind) {
        log_.warn("[" + op.name + "] the input operator of op " + std::string(name) +
                  " does not exist in previous graph.");
        continue;
      }
      if (*kind == QuantKind::quant || *kind == QuantKind::middle) return true;
    }
    return false;
  }

  // Returns the kind of an output of an operator that came before.
  std::optional<QuantKind> kind_at(std::string_view op, std::uint64_t index) const {
    const auto number = names_.find(op);
    if (!number || *number >= outputs_.size() || index >= outputs_[*number].count) return std::nullopt;
    return kinds_[outputs_[*number].begin + index];
  }

  const InternedTexts& names_;
  Log& log_;
  std::vector<Outputs> outputs_;  // by the number of the operator's name
  std::vector<QuantKind> kinds_;
};

}  // namespace

void FusionRules::filter_quantised(Log& log) {
  QuantFilter filter(texts_, log);
  for (const std::uint32_t i : in_sequence_) ops_[i].is_filtered = filter.is_filtered(op(i).op);
}

}  // namespace opdump::msaccucmp
