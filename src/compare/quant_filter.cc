// What lies between a quantisation and its inverse has no counterpart in the original model (cann.md 4.5).
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "compare/fusion_rules.h"

namespace opdump::compare {
namespace {

using format::FusionOp;
using format::FusionOutput;

// As Caffe, TensorFlow and ONNX models call what the quantising tools add.
constexpr std::array<std::string_view, 5> kQuantNames = {"_quant_layer", "/AscendQuant", "/AscendWeightQuant",
                                                         ".quant", ".weight_quant"};
constexpr std::array<std::string_view, 6> kInverseNames = {
    "_dequant_layer", "_anti_quant_layer", "/AscendDequant", "/AntiQuant", ".dequant", ".anti_quant"};

enum class Kind { normal, middle, quant, inverse };

template <std::size_t N>
bool holds_one_of(const FusionOp& op, const std::array<std::string_view, N>& words) {
  const std::string originals = join(op.original_names, "");
  for (const std::string_view word : words)
    if (op.name.find(word) != std::string::npos || originals.find(word) != std::string::npos) return true;
  return false;
}

std::optional<Kind> kind_of(const FusionOutput& output, bool quant, bool inverse, Kind otherwise) {
  if (!quant && !inverse) return otherwise;
  if (quant && output.dtype == "DT_INT8") return Kind::quant;
  if (inverse && output.dtype == "DT_FLOAT16") return Kind::inverse;
  return std::nullopt;
}

class Filter {
 public:
  explicit Filter(Journal& journal) : journal_(journal) {}

  bool is_filtered(const FusionOp& op) {
    const bool quant = holds_one_of(op, kQuantNames), inverse = holds_one_of(op, kInverseNames);
    const bool between = is_between(op);
    const Kind otherwise = between ? Kind::middle : Kind::normal;
    std::vector<Kind> kinds;
    bool ends = true;
    for (const FusionOutput& output : op.outputs) {
      const auto kind = kind_of(output, quant, inverse, otherwise);
      if (!kind)
        journal_.warn("[" + op.name +
                      "] this op looks like a quantization op, but it does not have proper output type");
      kinds.push_back(kind.value_or(otherwise));
      ends = ends && kinds.back() == Kind::inverse;
    }
    outputs_[op.name] = std::move(kinds);
    return between && !ends;
  }

 private:
  // True if an input is quantised.
  bool is_between(const FusionOp& op) const {
    for (const std::string& input : op.inputs) {
      const std::size_t colon = input.rfind(':');
      if (colon == std::string::npos) continue;
      const std::string name = input.substr(0, colon);
      const auto index = parse_uint64(std::string_view(input).substr(colon + 1));
      if (!index) {
        journal_.warn("[" + op.name + "] the input operator of op with index " + input + " is invalid.");
        continue;
      }
      const auto found = outputs_.find(name);
      if (found == outputs_.end() || found->second.size() <= *index) {
        journal_.warn("[" + op.name + "] the input operator of op " + name +
                      " does not exist in previous graph.");
        continue;
      }
      const Kind kind = found->second[*index];
      if (kind == Kind::quant || kind == Kind::middle) return true;
    }
    return false;
  }

  Journal& journal_;
  std::unordered_map<std::string, std::vector<Kind>> outputs_;
};

}  // namespace

void FusionRules::filter_quantised(Journal& journal) {
  Filter filter(journal);
  for (const std::size_t i : in_sequence_) ops_[i].is_filtered = filter.is_filtered(ops_[i].op);
}

}  // namespace opdump::compare
