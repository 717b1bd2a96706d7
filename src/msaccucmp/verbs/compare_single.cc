// -op: one tensor of one operator, element by element (cann.md 4.8).
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/file/file.h"
#include "base/text/text.h"
#include "format/tensors/npy.h"
#include "math/convert.h"
#include "msaccucmp/judge/element_errors.h"
#include "msaccucmp/judge/overflow.h"
#include "msaccucmp/log.h"
#include "msaccucmp/shape_text.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/compare_setup.h"
#include "msaccucmp/write/detail_files.h"
#include "msaccucmp/write/element_lines.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace {
using Done = Outcome<std::monostate>;

constexpr std::size_t kRank = 4;
constexpr std::uint64_t kDefaultLines = 1000000;
constexpr std::size_t kBlock = 4096;

// What is compared, once it is found.
struct Detail {
  TensorData mine, golden;
  model::Shape shape;  // of mine, as it is compared
  std::string axes;    // "N C H W"
  std::string my_ops, golden_ops;
  std::string dump_file;  // the name of mine
};

std::string with_blanks(std::string text) {
  std::ranges::replace(text, ',', ' ');
  return text;
}

class SingleOperator {
 public:
  SingleOperator(const CompareSetup& setup, Log& log)
      : setup_(setup),
        log_(log),
        op_(*setup.arguments.op),
        is_input_(!setup.arguments.input_index.value_or("").empty()),
        index_(index_of(setup.arguments)),
        files_(setup.output, op_, is_input_, index_) {}

  Status run() {
    auto detail = setup_.has_rules ? find_by_rules() : find_by_name();
    if (!detail) return detail.error().status;
    const auto written = write(*detail);
    if (!written) {
      log_.error("Failed to write detail info. " + written.error().message());
      return Status::write_file;
    }
    return Status::ok;
  }

 private:
  // An empty index is none. No operator has as many tensors as what is too large here says.
  static std::size_t index_of(const ComparisonArguments& arguments) {
    for (const auto& text : {arguments.input_index, arguments.output_index})
      if (text && !text->empty()) return static_cast<std::size_t>(parse_int64(*text).value_or(INT64_MAX));
    return 0;
  }

  std::string side() const { return is_input_ ? "input" : "output"; }
  std::string tensor_name() const { return op_ + ":" + side() + ":" + std::to_string(index_); }

  Failure fail(Status status, std::string message) { return log_.fail(status, std::move(message)); }

  Done check_index(const std::string& op, std::size_t count) {
    if (index_ < count) return std::monostate{};
    return fail(Status::out_of_bounds, "[" + op + "] The " + side() + " index (" + std::to_string(index_) +
                                           ") is out of range [0, " + std::to_string(count) +
                                           "). Please check the index.");
  }

  void say_start() { log_.info("[" + op_ + "] Start to compare detail for " + tensor_name() + "."); }

  Outcome<Detail> find_by_rules() {
    const auto group = setup_.rules.find_group(op_);
    if (!group)
      return fail(Status::invalid_parameter, "There is no \"" + op_ + "\" in the fusion rule file.");
    if (setup_.arguments.detects_overflow) {
      OPDUMP_TRY([[maybe_unused]] const std::monostate reported, report_overflow());
    }
    say_start();
    const auto rule = setup_.rules.find(op_);
    if (!rule) return fail(Status::invalid_parameter, "There is no \"" + op_ + "\" in the fusion rule file.");
    if (is_inner(rule->op))
      return fail(Status::unsupported_compare,
                  "[" + op_ + "] The op \"" + op_ +
                      "\" is inner node for multi to multi relation. Skip the op \"" + op_ + "\".");
    if (rule->is_filtered)
      return fail(Status::unsupported_compare,
                  "[" + op_ + "] The -op param should not specify an operator in quant/dequant pair.");
    const std::vector<RuleOp> members = setup_.rules.group(*group);
    OPDUMP_TRY(const DumpedOperator dumped, read_mine(*rule, members));
    const std::vector<DumpedTensor>& tensors = is_input_ ? dumped.inputs : dumped.outputs;
    files_.remove_old();
    return match(*rule, members, tensors[index_], dumped.path);
  }

  Outcome<DumpedOperator> read_mine(const RuleOp& rule, std::span<const RuleOp> group) {
    std::optional<std::int64_t> output;
    if (setup_.mine.kind() == DumpKind::quantised) output = 0;
    auto dumped = read_operator(setup_.mine, op_, output, log_);
    if (!dumped) {
      if (dumped.error().status == Status::no_dump_file) log_.error(no_dump_message(rule.op));
      return dumped.take_error();
    }
    OPDUMP_TRY([[maybe_unused]] const std::monostate fits,
               check_index(op_, is_input_ ? dumped->inputs.size() : dumped->outputs.size()));
    if (!is_input_ && relation_of(group) == Relation::l1) report_whole_output(group);
    return std::move(*dumped);
  }

  // Of operators that share the first-level buffer the last one's output is whole.
  void report_whole_output(std::span<const RuleOp> group) {
    const auto sorted = by_time(setup_.comparison(1), group, log_);
    if (sorted.empty() || sorted.back().rule->op.name == op_) return;
    const std::string& last = sorted.back().rule->op.name;
    log_.warn("The dump data of " + op_ +
              " is incomplete, the comparison may be far away. The dump data of " + last +
              " may be complete, It is best to use " + last + " for comparison.");
  }

  Outcome<Detail> match(const RuleOp& rule, std::span<const RuleOp> group, const DumpedTensor& mine,
                        const std::string& path) {
    const GroupComparison comparison = setup_.comparison(1);
    auto golden = find_golden(comparison, rule);
    if (!golden) {
      if (golden.error().status == Status::no_dump_file) log_.error(no_golden_message(op_, tensor_name()));
      return golden.take_error();
    }
    if (golden->origin.shape.empty() && needs_shape(mine.format))
      golden->origin.prefer_shape(mine.original_shape);
    Detail detail;
    detail.axes = mine.format == model::Format::fractal_z ? spaced(golden->origin.format) : axes_of(mine);
    const bool is_unchanged = setup_.mine.kind() == DumpKind::quantised;
    auto pair = match_layouts(
        {op_, mine, golden->tensor, golden->origin, true, is_unchanged, comparison.plugin}, log_);
    if (!pair) {
      if (pair.error().status == Status::fractal_nz) log_.error("[" + op_ + "] " + pair.error().message);
      return pair.take_error();
    }
    detail.mine = std::move(pair->mine);
    detail.golden = std::move(pair->golden);
    detail.shape = pair->shape;
    detail.dump_file = path.substr(path.rfind('/') + 1);
    name_operators(group, detail);
    return detail;
  }

  // Here the original knows only the shape in the rules, and fails without one.
  static bool needs_shape(model::Format format) {
    return format == model::Format::fractal_nz || format == model::Format::fractal_z ||
           format == model::Format::ndc1hwc0;
  }

  Outcome<GoldenTensor> find_golden(const GroupComparison& comparison, const RuleOp& rule) {
    OPDUMP_TRY(OriginTensor origin, find_origin(comparison, rule, index_, is_input_, log_));
    return read_golden(comparison, op_, std::move(origin), log_);
  }

  static void name_operators(std::span<const RuleOp> group, Detail& detail) {
    std::vector<std::string> originals, mine;
    for (const RuleOp& rule : group) {
      const std::string each = join(rule.op.original_names, ",");
      if (std::ranges::find(originals, each) == originals.end()) originals.push_back(each);
    }
    for (const std::string& each : originals)
      for (const RuleOp& rule : group)
        if (join(rule.op.original_names, ",") == each) mine.push_back(rule.op.name);
    const std::string golden = join(originals, " ");
    detail.my_ops = with_blanks(join(mine, " "));
    detail.golden_ops = golden.empty() ? "*" : with_blanks(golden);
  }

  static std::string axes_of(const DumpedTensor& tensor) {
    using model::Format;
    const Format format = tensor.format;
    if (format == Format::ndhwc || format == Format::ncdhw || format == Format::dhwcn ||
        format == Format::ndc1hwc0)
      return "N C D H W";
    return tensor.shape.rank() == 0 ? "ID" : "N C H W";
  }

  // "HWCN": "H W C N".
  static std::string spaced(const std::string& letters) {
    std::string text;
    for (const char c : letters) text.append(text.empty() ? "" : " ").append(1, c);
    return text;
  }

  // Two runs on the accelerator: the tensors as they lie.
  Outcome<Detail> find_by_name() {
    log_.warn(
        "Both the offline fusion rule file path and the quant fusion rule file path cannot be empty. Please "
        "ensure that the data is reasonable.");
    if (setup_.arguments.detects_overflow) warn_of_two_dumps();
    say_start();
    OPDUMP_TRY(const DumpedOperator mine, read_side(setup_.mine, "-m"));
    OPDUMP_TRY(const DumpedOperator golden, read_side(setup_.golden, "-g"));
    log_.info("My Output data path: " + mine.path);
    log_.info("Ground Truth data path: " + golden.path);
    const auto& left = is_input_ ? mine.inputs : mine.outputs;
    const auto& right = is_input_ ? golden.inputs : golden.outputs;
    for (const std::size_t count : {left.size(), right.size()}) {
      OPDUMP_TRY([[maybe_unused]] const std::monostate fits, check_index(op_, count));
    }
    const DumpedTensor &a = left[index_], &b = right[index_];
    if (!(a.shape == b.shape))
      return fail(Status::invalid_dump, "My Output data shape " + tuple_text(a.shape) +
                                            " not equal to Ground Truth data shape " + tuple_text(b.shape) +
                                            ".Can not compare.");
    if (a.format != b.format)
      return fail(Status::invalid_format,
                  "NPUDump tensor format not match Ground truth tensor format!Cannot be directly compared.");
    files_.remove_old();
    return Detail{a.data, b.data, a.shape, axes_of(a), op_, op_, mine.path.substr(mine.path.rfind('/') + 1)};
  }

  Outcome<DumpedOperator> read_side(const DumpFolder& folder, const std::string& option) {
    auto dumped = read_operator(folder, op_, std::nullopt, log_);
    if (!dumped) log_.error("Failed to find " + op_ + " dump data from " + option + " dump data path.");
    return dumped;
  }

  void warn_of_two_dumps() {
    log_.warn("Both compare data are NPU dump data, not support overflow detection.");
  }

  Done report_overflow() {
    if (setup_.mine.kind() == DumpKind::npu && setup_.golden.kind() == DumpKind::npu) {
      warn_of_two_dumps();
      return std::monostate{};
    }
    return msaccucmp::report_overflow(setup_.mine, op_, log_);
  }

  // ---- files ----

  Result<> write(const Detail& detail) {
    files_.set_dump_file(detail.dump_file);
    shape_ = detail.shape;
    OPDUMP_CHECK_OK(write_array(detail));
    const ElementErrors errors(detail.mine, detail.golden);
    const ErrorSummary summary = summarise(errors, static_cast<std::size_t>(setup_.arguments.top_count));
    OPDUMP_CHECK_OK(write_summary(detail, errors, summary));
    std::vector<std::int64_t> dims(std::as_const(shape_).dims().begin(), std::as_const(shape_).dims().end());
    dims.resize(std::max(dims.size(), kRank), 1);
    shape_ = model::Shape(std::span<const std::int64_t>(dims));
    if (!setup_.arguments.ignores_details) OPDUMP_CHECK_OK(write_elements(detail, errors));
    log_.info("[ " + std::string(50, '>') + " 100%]");
    log_.print();
    OPDUMP_CHECK_OK(write_top(detail, errors, summary.top_absolute, "absolute", "Absolute Error"));
    OPDUMP_CHECK_OK(write_top(detail, errors, summary.top_relative, "relative", "Relative Error"));
    log_.info("The details result have been written to \"'" + setup_.output + "'\".");
    return ok();
  }

  Result<> write_array(const Detail& detail) {
    const model::DType dtype = math_dtype(detail.mine);
    OPDUMP_TRY(const std::string header,
               format::encode_npy_header(dtype, shape_, format::NpySpelling::numpy));
    OPDUMP_TRY(const std::string name, files_.name_for(".npy"));
    OPDUMP_TRY(const Fd fd, files_.create_named(name));
    OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(header)), name));
    OPDUMP_CHECK_OK(write_elements_of(fd, detail.mine, name));
    log_.info("The " + tensor_name() + " after shape conversion have been written to \"'" + name + "'\".");
    return ok();
  }

  static bool is_tiny_float(const TensorData& data) {
    const model::DTypeInfo& info = model::dtype_info(data.dtype);
    return info.kind == model::DTypeKind::floating && info.bits <= 8;
  }

  static model::DType math_dtype(const TensorData& data) {
    return is_tiny_float(data) ? model::DType::float64 : math::array_dtype(data.dtype);
  }

  // The elements as NumPy has them.
  static Result<> write_elements_of(const Fd& fd, const TensorData& data, const std::string& path) {
    const std::uint64_t count = data.count(), size = model::dtype_info(math_dtype(data)).bits / 8;
    std::vector<std::byte> block(kBlock * size);
    for (std::uint64_t first = 0; first < count; first += kBlock) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count - first));
      const std::byte* in = data.bytes + first * (model::dtype_info(data.dtype).bits / 8);
      if (is_tiny_float(data))
        math::convert_elements(data.dtype, in, reinterpret_cast<double*>(block.data()), n);
      else
        math::convert_to_array(data.dtype, in, block.data(), n);
      OPDUMP_CHECK_OK(write_all(fd, std::span(block).first(n * size), path));
    }
    return ok();
  }

  Result<> write_summary(const Detail& detail, const ElementErrors& errors, const ErrorSummary& summary) {
    std::string text = "TotalCount:" + std::to_string(errors.count()) + "\nNPUDump:" + detail.my_ops +
                       "\nGroundTruth:" + detail.golden_ops + "\nFormat:" + detail.axes +
                       "\nMinAbsoluteError:" + format_fixed(summary.least_absolute, 6) +
                       "\nMaxAbsoluteError:" + format_fixed(summary.most_absolute, 6) +
                       "\nMinRelativeError:" + format_fixed(summary.least_relative, 6) +
                       "\nMaxRelativeError:" + format_fixed(summary.most_relative, 6) + "\n";
    if (errors.are_bool()) {
      log_.warn("Boolean data does not support calculate Relative Error or Absolute Error!");
      dash_out(text, "nan");  // in names as well, as the original does
    }
    return files_.write("_summary.txt", text);
  }

  Result<> write_elements(const Detail& detail, const ElementErrors& errors) {
    const auto lines = static_cast<std::uint64_t>(setup_.arguments.max_lines.value_or(kDefaultLines));
    terminal::Progress progress("writing elements");
    for (std::uint64_t begin = 0;; begin += lines) {
      OPDUMP_TRY(const Fd fd, files_.create("_" + std::to_string(begin) + ".csv"));
      OPDUMP_CHECK_OK(
          write_part(fd, detail, errors, begin, std::min(begin + lines, errors.count()), progress));
      if (begin + lines >= errors.count()) return ok();
    }
  }

  Result<> write_part(const Fd& fd, const Detail& detail, const ElementErrors& errors, std::uint64_t begin,
                      std::uint64_t end, terminal::Progress& progress) {
    std::string text = element_header(detail.axes);
    std::vector<ElementError> block(kBlock);
    for (std::uint64_t first = begin; first < end; first += kBlock) {
      const std::span part(block.data(),
                           static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - first)));
      errors.read(first, part);
      for (std::size_t i = 0; i < part.size(); ++i)
        append_element(text, first + i, shape_, part[i], errors.are_bool());
      OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(text)), files_.prefix()));
      text.clear();
      progress.update(first * sizeof(float), errors.count() * sizeof(float));
    }
    return write_all(fd, std::as_bytes(std::span(text)), files_.prefix());
  }

  Result<> write_top(const Detail& detail, const ElementErrors& errors,
                     const std::vector<std::size_t>& positions, const std::string& kind,
                     const std::string& title) {
    std::vector<std::string> lines;
    for (const std::size_t position : positions) {
      ElementError error;
      errors.read(position, std::span(&error, 1));
      lines.push_back(top_line(position, shape_, error, errors.are_bool()));
    }
    const std::string header = element_header(detail.axes);
    std::string text = header;
    for (const std::string& line : lines) text += line;
    OPDUMP_CHECK_OK(files_.write("_" + kind + "_error_topn.csv", text));
    terminal::print("\n\n");
    OPDUMP_CHECK_OK(terminal::flush_output());
    log_.info(title + " TopN");
    log_.print();
    terminal::print(aligned_table(header, lines));
    return terminal::flush_output();
  }

  const CompareSetup& setup_;
  Log& log_;
  std::string op_;
  bool is_input_;
  std::size_t index_;
  DetailFiles files_;
  model::Shape shape_;
};

}  // namespace

Status compare_single_operator(const CompareSetup& setup, Log& log) {
  return SingleOperator(setup, log).run();
}

}  // namespace opdump::msaccucmp
