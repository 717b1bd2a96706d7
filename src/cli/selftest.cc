// `opdump selftest --against DIR`: what the original made of the bundled example on a device, judged row by
// row.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/verb.h"
#include "dump/read/dump_set.h"
#include "math/hash.h"
#include "math/stats/stats.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

// Its numbers are exact in every floating-point type, and the last operator overflows.
constexpr std::string_view kProgram = R"(import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)


class Net(nn.Cell):
    def construct(self, x, w, b, d):
        return ops.div(ops.relu(ops.matmul(x, w) + b), d)


x, w = np.arange(1, 7, dtype=np.float32).reshape(2, 3), np.array([[1, 0], [0, 1], [1, 1]], np.float32)
b, d = np.array([-5, 1], np.float32), np.array([[1, 1], [0, 1]], np.float32)
print(Net()(Tensor(x), Tensor(w), Tensor(b), Tensor(d)))
)";

struct ExpectedOutput {
  std::string_view operation;
  std::vector<std::string_view> types;  // as releases call it
  std::array<float, 4> output;
};

const std::vector<ExpectedOutput>& expected_outputs() {
  static const std::vector<ExpectedOutput> list{
      {"matmul", {"MatMul", "BatchMatMul", "MatMulV2", "MatMulV3", "MatMulExt"}, {4, 5, 10, 11}},
      {"add", {"Add", "BiasAdd", "AddExt"}, {-1, 6, 5, 12}},
      {"relu", {"ReLU", "Relu"}, {0, 6, 5, 12}},
      {"div", {"Div", "RealDiv", "DivMod"}, {0, 6, INFINITY, 12}}};
  return list;
}

enum class RowAnswer : std::uint8_t { same, differs, absent };

// The rows of the report. An absent one is of what the dump was not asked for.
class Report {
 public:
  void add(std::string_view row, RowAnswer answer, const std::string& detail) {
    constexpr std::string_view kWords[] = {"same", "differs", "absent"};
    differs_ |= answer == RowAnswer::differs;
    has_same_ |= answer == RowAnswer::same;
    std::string line(row);
    line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
    line.append(kWords[static_cast<std::size_t>(answer)]);
    line.resize(std::max<std::size_t>(line.size() + 1, 23), ' ');
    terminal::print(line + detail + "\n");
  }
  Exit status() const { return differs_ ? Exit::mismatch : has_same_ ? Exit::match : Exit::incomplete; }

 private:
  bool differs_ = false, has_same_ = false;
};

std::string text_of(double value) {
  std::string text;
  append_g(text, value);
  return text;
}

// What opdump prints in a column; nothing for a column that it does not know.
std::optional<std::string> compute_column(std::string_view column, const math::Statistics& values,
                                          const model::TensorView& view) {
  const std::pair<std::string_view, double> numbers[] = {{"Max Value", values.max},
                                                         {"Min Value", values.min},
                                                         {"Avg Value", values.avg},
                                                         {"L2Norm Value", values.l2norm}};
  for (const auto& [name, value] : numbers)
    if (name == column) return text_of(value);
  const std::pair<std::string_view, std::uint64_t> counts[] = {
      {"Count", values.count},
      {"NaN Count", values.nan_count},
      {"Zero Count", values.zero_count},
      {"Negative Zero Count", values.negative_count},
      {"Positive Zero Count", values.positive_count},
      {"Negative Inf Count", values.negative_inf_count},
      {"Positive Inf Count", values.positive_inf_count}};
  for (const auto& [name, count] : counts)
    if (name == column) return std::to_string(count);
  if (column == "MD5") return math::md5_hex(view);
  if (column == "XXH128") return math::xxh128_hex(view);
  return std::nullopt;
}

// Rows of statistics beside tensors, computed again.
void check_statistics(const dump::DumpSet& set, Report& report) {
  std::uint64_t rows = 0, equal = 0;
  std::string first;
  for (const dump::OperatorRun& run : set.runs())
    for (const dump::Slot& slot : run.slots) {
      if (slot.file.empty() || slot.statistics.empty() || !math::has_statistics(slot.dtype)) continue;
      const auto tensor = dump::StoredTensor::read(slot);
      if (!tensor) continue;
      const math::Statistics values = math::finish(math::partial_stats(
          tensor->view(), {.extremes = true, .sum = true, .squares = true, .counts = true}));
      ++rows;
      bool is_equal = true;
      for (const auto& [column, text] : slot.statistics.columns())
        if (const auto ours = compute_column(column, values, tensor->view()); ours && *ours != text) {
          is_equal = false;
          if (first.empty())
            first.append("; ")
                .append(run.name)
                .append(" ")
                .append(column)
                .append(" is ")
                .append(text)
                .append(", opdump computes ")
                .append(*ours);
        }
      equal += is_equal ? 1 : 0;
    }
  if (rows == 0)
    return report.add("statistics", RowAnswer::absent, "no row has its tensor beside it (saved_data full)");
  report.add("statistics", equal == rows ? RowAnswer::same : RowAnswer::differs,
             std::to_string(equal) + " of " + counted(rows, "row") + first);
}

std::string describe(const model::TensorView& view) {
  const math::Statistics found = math::finish(
      math::partial_stats(view, {.extremes = true, .sum = true, .squares = true, .counts = true}));
  return std::to_string(view.element_count())
      .append(" elements with max ")
      .append(text_of(found.max))
      .append(", min ")
      .append(text_of(found.min))
      .append(", avg ")
      .append(text_of(found.avg))
      .append(", l2norm ")
      .append(text_of(found.l2norm));
}

// What is in the outputs of the operators that may be the one of the example, each once.
std::vector<std::string> describe_outputs(const dump::DumpSet& set, const ExpectedOutput& expected) {
  std::vector<std::string> found;
  for (const dump::OperatorRun& run : set.runs()) {
    if (std::ranges::find(expected.types, run.type) == expected.types.end()) continue;
    for (const dump::Slot& slot : run.slots) {
      if (slot.side != model::Side::output || slot.file.empty()) continue;
      const auto tensor = dump::StoredTensor::read(slot);
      found.push_back(tensor ? describe(tensor->view()) : tensor.error().message());
    }
  }
  return found;
}

// Outputs of the example's operators.
void check_values(const dump::DumpSet& set, Report& report) {
  for (const ExpectedOutput& expected : expected_outputs()) {
    const std::string wanted = describe(
        model::TensorView::row_major(model::DType::float32, model::Shape{4}, expected.output.data()));
    const std::vector<std::string> found = describe_outputs(set, expected);
    if (found.empty())
      report.add(expected.operation, RowAnswer::absent, "no output of the type " + join_or(expected.types));
    else if (std::ranges::find(found, wanted) != found.end())
      report.add(expected.operation, RowAnswer::same, wanted);
    else
      report.add(expected.operation, RowAnswer::differs, found[0] + "; expected: " + wanted);
  }
}

void check_files(const dump::DumpSet& set, Report& report) {
  std::uint64_t tensors = 0;
  for (std::size_t i = 0; i < set.runs().size(); ++i)
    for (const dump::Slot& slot : set.runs().slots(i)) tensors += slot.has_data() ? 1 : 0;
  const RowAnswer answer = !set.problems().empty() ? RowAnswer::differs
                           : tensors == 0          ? RowAnswer::absent
                                                   : RowAnswer::same;
  report.add("files", answer, counted(tensors, "tensor") + " of " + counted(set.runs().size(), "run"));
  for (const dump::Problem& problem : set.problems())
    terminal::print("  " + problem.path.string() + ": " + problem.what + "\n");
}

void check_names(const dump::DumpSet& set, Report& report) {
  std::uint64_t named = 0, operators = 0;
  std::string first;
  for (std::size_t i = 0; i < set.runs().size(); ++i) {
    const dump::OperatorRun run = set.runs().without_slots(i);
    if (run.type == "Parameter") continue;
    ++operators;
    if (run.op != nullptr)
      ++named;
    else if (first.empty())
      first = "; first without: " + run.name;
  }
  const RowAnswer answer = named == 0           ? RowAnswer::absent
                           : named == operators ? RowAnswer::same
                                                : RowAnswer::differs;
  report.add(
      "names", answer,
      std::to_string(named) + " of " + counted(operators, "run") + " have their operator in a graph" + first);
}

void check_overflows(const dump::DumpSet& set, Report& report) {
  if (set.overflows().empty())
    return report.add("overflow", RowAnswer::absent, "no record (op_debug_mode 3 of O2)");
  std::uint64_t known = 0;
  for (const dump::Overflow& overflow : set.overflows())
    for (std::size_t i = 0; i < set.runs().size(); ++i) {
      const dump::OperatorRun run = set.runs().without_slots(i);
      if (run.task != overflow.task || run.stream != overflow.stream) continue;
      ++known;
      break;
    }
  report.add(
      "overflow", known == set.overflows().size() ? RowAnswer::same : RowAnswer::differs,
      std::to_string(known) + " of " + counted(set.overflows().size(), "record") + " name an operator");
}

}  // namespace

Result<int> run_selftest(std::span<const char* const> args) {
  CLI::App app("Judges what MindSpore or CANN dumped of the bundled example, row by row.", "opdump selftest");
  std::string directory;
  bool prints_program = false;
  auto* const against =
      app.add_option("--against", directory, "The dump that the original made of the example");
  app.add_flag("--program", prints_program, "Print the example, a program of MindSpore")->excludes(against);
  app.footer(
      "On a machine with the device:\n"
      "  opdump selftest --program > example.py\n"
      "  MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json python3 example.py\n"
      "  opdump selftest --against DUMP\n\n"
      "Exit status: 0 every row that is there is the same, 1 one differs, 3 nothing was there. Attach what "
      "it prints to "
      "a bug report.");
  if (auto done = parse_arguments(app, args)) return std::move(*done);
  if (prints_program) {
    terminal::print(std::string(kProgram));
    return 0;
  }
  if (directory.empty()) return Error(Code::usage, "--against DIR or --program is expected");
  OPDUMP_TRY(const dump::DumpSet set, dump::DumpSet::open(directory, terminal::print_remark));
  terminal::print("opdump " + std::string(kVersion) + ", dump " + directory + "\n");
  Report report;
  check_files(set, report);
  check_names(set, report);
  check_statistics(set, report);
  check_values(set, report);
  check_overflows(set, report);
  return static_cast<int>(report.status());
}

}  // namespace opdump::cli
