#include "msaccucmp/verbs/compare_setup.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "base/worker_pool.h"
#include "format/graphs/fusion_json.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/read/rules_text.h"

namespace opdump::msaccucmp {
namespace {
using Done = Outcome<std::monostate>;

constexpr std::int64_t kLeastLines = 10000, kMostLines = 1000000, kMostTop = 10000;

Outcome<FusionRules> read_rules(const std::string& path, Log& log) {
  warn_of_size(path, log);
  auto text = RulesText::read(path);
  if (!text) return log.fail(Status::open_file, text.error().message());
  FusionRules rules;
  const auto read = format::decode_fusion_json(
      text->text(), path,
      [&](std::size_t graph, format::FusionOp op) { return rules.add(graph, std::move(op)); });
  if (!read) return report_bad_rules(read.error(), log);
  text = RulesText();  // what was read of it counts as memory
  rules.finish();
  rules.filter_quantised(log);
  return rules;
}

// What must be given and what must not for a pair of kinds of dumps (cann.md 4.4).
class KindCheck {
 public:
  KindCheck(const ComparisonArguments& arguments, const DumpFolder& mine, const DumpFolder& golden, Log& log)
      : arguments_(arguments), mine_(mine), golden_(golden), log_(log) {}

  Done check() const {
    if (mine_.kind() == DumpKind::original) return impossible();
    return mine_.kind() == DumpKind::npu ? check_npu() : check_quantised();
  }

 private:
  Failure fail(Status status, std::string_view what) const {
    return log_.fail(status, "When the left " + mine_.description() + " and the right " +
                                 golden_.description() + ", " + std::string(what) + ".");
  }
  Failure impossible() const { return fail(Status::dump_kind, "this scenario cannot be compared"); }
  Failure misses(std::string_view option, Status status = Status::invalid_parameter) const {
    return fail(status, "the " + std::string(option) + " parameter is required");
  }
  Failure needs_no(std::string_view options, Status status = Status::invalid_parameter) const {
    return fail(status, "there is no need to enter the " + std::string(options) + " parameter");
  }

  Done check_npu() const {
    const bool has_fusion = !arguments_.fusion.empty(), has_quant = !arguments_.quant_fusion.empty(),
               has_unfused = !arguments_.no_fusion.empty();
    if (golden_.kind() == DumpKind::npu) {
      if (mine_.is_quantised() != golden_.is_quantised()) return impossible();
      if (has_fusion && !has_unfused) return misses("-cf");
      if (!has_fusion && has_unfused) return misses("-f");
      if (has_quant) return needs_no("-q");
    } else if (golden_.kind() == DumpKind::original) {
      if (!has_fusion) return misses("-f");
      if (has_unfused) return needs_no("-cf");
      if (mine_.is_quantised() && !has_quant) return misses("-q");
      if (!mine_.is_quantised() && has_quant) return needs_no("-q");
    } else {
      if (!mine_.is_quantised()) return impossible();
      if (!has_fusion) return misses("-f");
      if (has_quant || has_unfused) return needs_no("-q or -cf");
    }
    return std::monostate{};
  }

  Done check_quantised() const {
    if (!arguments_.no_fusion.empty()) return needs_no("-cf", Status::dump_kind);
    if (golden_.kind() != DumpKind::original) return impossible();
    if (arguments_.quant_fusion.empty()) return misses("-q", Status::dump_kind);
    if (!arguments_.fusion.empty()) return needs_no("-f", Status::dump_kind);
    return std::monostate{};
  }

  const ComparisonArguments& arguments_;
  const DumpFolder& mine_;
  const DumpFolder& golden_;
  Log& log_;
};

class Preparation {
 public:
  Preparation(const ComparisonArguments& arguments, Log& log) : log_(log) { setup_->arguments = arguments; }

  Outcome<std::unique_ptr<CompareSetup>> prepare() {
    for (const auto step :
         {&Preparation::read_arguments, &Preparation::check_rule_files, &Preparation::check_single,
          &Preparation::make_output, &Preparation::scan, &Preparation::make_rules, &Preparation::choose}) {
      auto done = (this->*step)();
      if (!done) return done.take_error();
    }
    return std::move(setup_);
  }

 private:
  const ComparisonArguments& arguments() const { return setup_->arguments; }

  bool is_single() const { return arguments().op && !arguments().op->empty(); }

  Done read_arguments() {
    if (is_single()) {
      OPDUMP_TRY([[maybe_unused]] const std::monostate numbers, check_numbers());
    }
    OPDUMP_TRY(setup_->plugins, find_plugins(arguments().custom, arguments().algorithms, true, log_));
    OPDUMP_TRY(
        setup_->algorithms,
        AlgorithmSet::select(
            {arguments().algorithms, arguments().algorithm_options, setup_->plugins.algorithms}, log_));
    const auto is_given = [](const std::optional<std::string>& text) { return text && !text->empty(); };
    if (is_given(arguments().range) || is_given(arguments().select)) {
      OPDUMP_TRY(setup_->choice, parse_choice(arguments(), log_));
    }
    return std::monostate{};
  }

  Done check_numbers() {
    if (const auto lines = arguments().max_lines; lines && (*lines < kLeastLines || *lines > kMostLines)) {
      log_.error("The --max_line argument index (" + std::to_string(*lines) +
                 ") is out of range 10000 - 1000000. Please check the index.");
      return Failure{Status::invalid_parameter, ""};
    }
    for (const auto& index : {arguments().output_index, arguments().input_index})
      if (index && !index->empty() && !is_digits(*index))
        return log_.fail(Status::invalid_parameter,
                         "The detail index '" + *index + "' is invalid. It only supports 'natural number'.");
    return std::monostate{};
  }

  Done check_rule_files() {
    for (std::string* path :
         {&setup_->arguments.fusion, &setup_->arguments.quant_fusion, &setup_->arguments.no_fusion}) {
      if (path->empty()) continue;
      *path = real_text(*path);
      if (const Status status = check_path(*path, PathKind::file, log_); status != Status::ok)
        return Failure{status, ""};
    }
    return std::monostate{};
  }

  Done check_single() {
    if (!is_single()) return std::monostate{};
    const bool is_plain = std::ranges::all_of(*arguments().op, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_\\./:()=-").find(c) != std::string_view::npos;
    });
    if (!is_plain)
      return log_.fail(Status::invalid_parameter, "The name '" + *arguments().op +
                                                      "' is invalid. It only supports "
                                                      "'\"A-Za-z0-9_\\./:()=-\"'.");
    const std::int64_t count = arguments().top_count;
    if (count >= 1 && count <= kMostTop) return std::monostate{};
    return log_.fail(Status::out_of_bounds, "The top n index (" + std::to_string(count) +
                                                ") is out of range [1, 10000]. Please check the index.");
  }

  Done make_output() {
    setup_->output = real_text(arguments().output);
    const Status status = check_output(setup_->output, log_);
    if (status != Status::ok) return Failure{status, ""};
    return std::monostate{};
  }

  // A folder, or a file of rules, that is read while others are.
  template <typename T>
  struct Input {
    std::optional<Outcome<T>> value;
    Log log;

    // Its lines go to the log now.
    Outcome<T> take(Log& to) {
      for (const LogLine& line : log.lines()) to.add(line.severity, line.text);
      log.clear();
      return std::move(*value);
    }
  };

  Outcome<DumpFolder> scan(const std::string& text, Log& log) const {
    const std::string path = real_text(text);
    if (const Status status = check_path(path, PathKind::directory, log); status != Status::ok)
      return Failure{status, ""};
    return DumpFolder::scan(path, arguments().in_slices, !arguments().fusion.empty(), log);
  }

  const std::string& first_rules() const {
    return arguments().fusion.empty() ? arguments().quant_fusion : arguments().fusion;
  }

  Done scan() {
    setup_->has_rules = !first_rules().empty();
    Input<DumpFolder> mine, golden;
    const unsigned threads = arguments().share == nullptr ? 0 : arguments().share->threads;
    parallel_for(3, threads, [&](std::size_t i) {
      if (i == 0 && setup_->has_rules) rules_.value = read_rules(first_rules(), rules_.log);
      if (i == 1) mine.value = scan(arguments().mine, mine.log);
      if (i == 2) golden.value = scan(arguments().golden, golden.log);
    });
    OPDUMP_TRY(setup_->mine, mine.take(log_));
    OPDUMP_TRY(setup_->golden, golden.take(log_));
    if (setup_->mine.files().first_path().ends_with(".npy")) setup_->arguments.detects_overflow = false;
    return KindCheck(arguments(), setup_->mine, setup_->golden, log_).check();
  }

  Done make_rules() {
    const std::string& quantised = arguments().quant_fusion;
    if (!setup_->has_rules) return std::monostate{};
    OPDUMP_TRY(setup_->rules, rules_.take(log_));
    if (arguments().fusion.empty()) return std::monostate{};
    if (!quantised.empty()) {
      OPDUMP_TRY(const FusionRules other, read_rules(quantised, log_));
      setup_->rules = merge_quantised(std::move(setup_->rules), other, log_);
    } else if (!arguments().no_fusion.empty()) {
      OPDUMP_TRY(const FusionRules other, read_rules(arguments().no_fusion, log_));
      setup_->rules = merge_unfused(setup_->rules, other, log_);
    }
    return std::monostate{};
  }

  Done choose() {
    if (!setup_->choice) return std::monostate{};
    const FusionRules& rules = setup_->rules;
    const std::uint32_t count = rules.op_count();
    const std::int64_t last = count == 0 ? 0 : rules.sequence_of(rules.in_sequence(count - 1));
    const Status status = check_choice(*setup_->choice, last, log_);
    if (status != Status::ok) return Failure{status, ""};
    return std::monostate{};
  }

  Log& log_;
  std::unique_ptr<CompareSetup> setup_ = std::make_unique<CompareSetup>();
  Input<FusionRules> rules_;
};

}  // namespace

Failure report_bad_rules(const Error& error, Log& log) {
  if (error.code() == Code::io || error.code() == Code::limit)
    return log.fail(Status::open_file, error.message());
  if (error.code() == Code::not_found)
    log.warn(error.message());
  else
    log.error(error.message());
  return Failure{Status::invalid_json, ""};
}

bool CompareSetup::has_sequence() const { return arguments.range || arguments.select; }

GroupComparison CompareSetup::comparison(std::size_t tasks) const {
  TableColumns columns;
  columns.has_sequence = has_sequence();
  columns.has_overflow = arguments.detects_overflow;
  columns.has_my_address = !mine.holds_npy();
  columns.has_golden_address = !golden.holds_npy();
  columns.algorithms = algorithms.names();
  const std::size_t cores = worker_count(arguments.share == nullptr ? 0 : arguments.share->threads);
  if (arguments.share != nullptr) tasks /= arguments.share->size;
  return {mine,
          golden,
          rules,
          algorithms,
          columns,
          plugins.layouts,
          static_cast<std::uint64_t>(arguments.max_elements),
          static_cast<unsigned>(std::max<std::size_t>(1, cores / std::clamp<std::size_t>(tasks, 1, cores)))};
}

Outcome<std::unique_ptr<CompareSetup>> prepare_comparison(const ComparisonArguments& arguments, Log& log) {
  return Preparation(arguments, log).prepare();
}

}  // namespace opdump::msaccucmp
