#include "msaccucmp/judge/overflow.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "math/convert.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/file_times.h"

namespace opdump::msaccucmp {
namespace {

constexpr float kHalfMax = 65504;
constexpr std::size_t kLeastWidth = 20;

class OverflowTable {
 public:
  OverflowTable(const DumpFolder& folder, const std::string& op, Log& log)
      : folder_(folder), op_(op), log_(log) {}

  Outcome<std::monostate> report() {
    log_.info("Checking " + op_ + " operator overflow");
    OPDUMP_TRY(files_, folder_.find(op_, std::nullopt));
    report_files(folder_, op_, files_, log_);
    OPDUMP_TRY(const DumpedOperator dumped, read_dumped_operator(path(), log_));
    const bool has_inputs = has_halves(dumped.inputs, "input");
    const bool has_outputs = has_halves(dumped.outputs, "output");
    if (!has_inputs && !has_outputs) return std::monostate{};
    find_overflowed(dumped.inputs, "input", has_inputs);
    find_overflowed(dumped.outputs, "output", has_outputs);
    report_overflowed();
    return std::monostate{};
  }

 private:
  const std::string& path() const { return files_.paths.back(); }

  bool has_halves(const std::vector<DumpedTensor>& tensors, const std::string& side) {
    bool has_one = false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].data.dtype != model::DType::float16) continue;
      has_one = true;
      log_.info("Start to parse the data of " + side + ":" + std::to_string(i) + " in \"'" + path() + "'\".");
    }
    if (!has_one)
      log_.warn("The " + side + " data type of " + op_ +
                " operator is not float16. The overflow check supports only float16.");
    return has_one;
  }

  void find_overflowed(const std::vector<DumpedTensor>& tensors, const std::string& side, bool has_halves) {
    if (!has_halves) {
      report_files(folder_, op_, files_, log_);  // the original looks for them again
      log_.warn("There is no " + side + " in \"'" + path() + "'\".");
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (overflow_of(tensors[i]) == "YES") overflowed_.push_back(side + ":" + std::to_string(i));
  }

  void report_overflowed() {
    if (overflowed_.empty()) return log_.info("The input and output of the op: " + op_ + " is not overflow.");
    std::size_t width = kLeastWidth;
    for (const std::string& name : overflowed_) width = std::max(width, name.size());
    const auto row = [&](std::string left, std::string right) {
      left.resize(width, ' ');
      right.resize(width, ' ');
      return left + right;
    };
    log_.info(row("TensorIndex", "Overflow"));
    for (const std::string& name : overflowed_) log_.info(row(name, "yes"));
    log_.info(op_ + " operator has overflowed.");
  }

  const DumpFolder& folder_;
  const std::string& op_;
  Log& log_;
  OperatorFiles files_;
  std::vector<std::string> overflowed_;
};

}  // namespace

std::string overflow_of(const DumpedTensor& tensor) {
  if (tensor.data.dtype != model::DType::float16) return "NaN";
  const std::uint64_t count = tensor.data.count();
  constexpr std::uint64_t kBlock = 4096;
  std::vector<float> block(std::min(count, kBlock));
  bool is_large = false;
  for (std::uint64_t first = 0; first < count; first += kBlock) {
    const std::uint64_t n = std::min(kBlock, count - first);
    math::convert_elements(tensor.data.dtype, tensor.data.bytes + first * 2, block.data(), n);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (std::isnan(block[i])) return "NO";  // NumPy's maximum is then NaN, which is not large
      is_large = is_large || std::abs(block[i]) >= kHalfMax;
    }
  }
  return is_large ? "YES" : "NO";
}

Outcome<std::monostate> report_overflow(const DumpFolder& folder, const std::string& op, Log& log) {
  return OverflowTable(folder, op, log).report();
}

}  // namespace opdump::msaccucmp
