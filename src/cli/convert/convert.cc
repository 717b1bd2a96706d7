// `opdump convert DUMP -o OUT --to npy`: the tensors of a dump as files that other programs read.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/packing.h"
#include "base/text/text.h"
#include "base/worker_pool.h"
#include "cli/arguments.h"
#include "cli/convert/convert_log.h"
#include "cli/convert/convert_plan.h"
#include "cli/verb.h"
#include "format/tables/mapping_csv.h"
#include "group/group.h"
#include "group/shared_work.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBigFile = 32 << 20;  // converted alone, by all threads

void declare(CLI::App& app, ConvertArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root or any directory below it")->required();
  app.add_option("-o,--output", arguments.output, "The output directory; created if it is missing")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--to", arguments.to,
                 "npy (default), bin, txt, pt: a file for each tensor; npz, safetensors: one for each step; "
                 "golden: the outputs of a step as msaccucmp wants them")
      ->check(CLI::IsMember({"npy", "bin", "txt", "pt", "npz", "safetensors", "golden"}));
  app.add_option("--format", arguments.format, "Convert accelerators' tensors to this layout: NCHW, ND, ...");
  add_filter(app, arguments.filter, kRunOrders);
  app.add_option("--slot", arguments.slot,
                 "Only this slot of each operator: input.0, output.1, ..., or one side: output");
  add_expansion_limit(app);
  app.footer(
      "Examples:\n"
      "  opdump convert golden -o arrays\n"
      "  opdump convert golden -o arrays --to safetensors --step 3\n"
      "  opdump convert cpu_run -o golden --to golden\n"
      "  opdump convert cann_dump -o arrays --to npz --format NCHW --op conv --slot output.0");
}

// Converts a dump, or a part of it if a group of processes does it together.
class Converter {
 public:
  Converter(const ConvertTarget& target, const ConvertPlan& plan, const group::Group& group)
      : target_(target),
        plan_(plan),
        group_(group),
        lister_(plan.dump.runs(), plan.chosen, target),
        progress_("converting") {}

  Result<> run(const group::Share& among) {
    std::optional<group::SharedWork> shared;
    const std::uint64_t rounds = lister_.rounds(plan_.tensors);
    if (among.size > 1) {
      OPDUMP_TRY(shared, group::SharedWork::join(among, plan_.digest, rounds));
      if (!shared->takes_part()) return shared->skip_all();
      left_out_ = shared->problems();
    }
    for (std::uint64_t round = 0; round < rounds; ++round) OPDUMP_CHECK_OK(convert_next(shared));
    return ok();
  }

  // Of all processes, in the leader. The order is that of the dump.
  std::uint64_t converted() const { return converted_; }
  const std::vector<std::string>& failures() const { return failures_; }
  // As ItemLister::mapping.
  const std::string& mapping() const { return lister_.mapping(); }
  // Processes that did not do their part.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  Result<> convert_next(std::optional<group::SharedWork>& shared) {
    items_ = lister_.next();
    results_ = std::vector<ItemResult>(items_.size());
    is_done_.assign(items_.size(), false);
    if (shared) {
      OPDUMP_CHECK_OK(share(*shared));
    } else {
      std::vector<std::size_t> all(items_.size());
      std::iota(all.begin(), all.end(), 0);
      convert(all);
    }
    for (ItemResult& result : results_) {
      converted_ += result.converted;
      std::ranges::move(result.failures, std::back_inserter(failures_));
    }
    return ok();
  }

  void convert(std::span<const std::size_t> indices) {
    const unsigned threads =
        std::max<unsigned>(1, worker_count(0) / static_cast<unsigned>(group_.size_here()));
    std::vector<std::size_t> small, big;
    for (const std::size_t i : indices) {
      const bool is_big = !items_[i].name.empty() && items_[i].bytes > kBigFile;
      (is_big ? big : small).push_back(i);
    }
    const auto each = std::max<std::size_t>(1, threads / std::max<std::size_t>(1, small.size()));
    parallel_for(small.size(), threads,
                 [&](std::size_t i) { convert(small[i], static_cast<unsigned>(each)); });
    for (const std::size_t i : big) convert(i, threads);
  }

  void convert(std::size_t i, unsigned threads) {
    std::uint64_t begun = 0;  // of this item, in begun_bytes_, too
    const auto on_done = [&](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      begun += bytes;
      begun_bytes_ += bytes;
      progress_.update(done_bytes_ + begun_bytes_, plan_.bytes);
    };
    ItemResult result = convert_item(plan_.dump.runs(), items_[i], target_, threads, on_done);
    const std::lock_guard lock(mutex_);
    begun_bytes_ -= begun;
    note(i, std::move(result));
    progress_.update(done_bytes_ + begun_bytes_, plan_.bytes);
  }

  void note(std::size_t i, ItemResult result) {
    results_[i] = std::move(result);
    is_done_[i] = true;
    done_bytes_ += items_[i].bytes;
  }

  // Converts a part of the items and learns from the others what became of theirs. The leader converts what a
  // process that died has left.
  Result<> share(group::SharedWork& work) {
    std::vector<std::uint64_t> bytes;
    for (const ConvertItem& item : items_) bytes.push_back(item.bytes);
    const auto convert_own = [&](std::span<const std::size_t> own) {
      convert(own);
      return group_.is_leader() ? std::string() : answers_of(own);
    };
    OPDUMP_TRY(const group::SharedAnswers shared, work.run(bytes, convert_own));
    if (!group_.is_leader()) return ok();
    for (const std::size_t rank : shared.workers) {
      if (rank == 0) continue;
      if (shared.answers[rank].empty() && std::ranges::count(shared.owner, rank) > 0)
        left_out_.push_back("process " + std::to_string(rank) + ": it died, and process 0 did its part");
      take_answers(shared.answers[rank]);
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (!is_done_[i]) left.push_back(i);
    convert(left);
    return ok();
  }

  // Number and result of each item, for processes that are the same program.
  std::string answers_of(std::span<const std::size_t> own) const {
    std::string answers;
    Packer out(answers);
    for (const std::size_t i : own) {
      out.number(i);
      out.number(results_[i].converted);
      out.number(results_[i].failures.size());
      for (const std::string& failure : results_[i].failures) out.text(failure);
    }
    return answers;
  }

  void take_answers(std::string_view answers) {
    for (Unpacker in(answers); !in.is_empty();) {
      const std::uint64_t i = in.number();
      ItemResult result{in.number(), {}};
      for (std::uint64_t left = in.number(); left > 0 && in.is_ok(); --left)
        result.failures.emplace_back(in.text());
      if (in.is_ok() && i < items_.size()) note(i, std::move(result));
    }
  }

  const ConvertTarget& target_;
  const ConvertPlan& plan_;
  const group::Group& group_;
  ItemLister lister_;
  std::uint64_t converted_ = 0;
  std::vector<std::string> failures_;
  std::vector<ConvertItem> items_;  // some of all
  std::vector<ItemResult> results_;
  std::vector<bool> is_done_;
  std::vector<std::string> left_out_;
  std::mutex mutex_;  // guards results_, is_done_ and what follows
  terminal::Progress progress_;
  std::uint64_t done_bytes_ = 0, begun_bytes_ = 0;
};

// `logged`: what became of the log of operators.
Result<int> report(const Converter& converter, const dump::DumpSet& dump, const Result<>& logged,
                   const std::string& output) {
  std::string text = "converted " + counted(converter.converted(), "tensor") + " into " + output;
  for (const std::string& failure : converter.failures()) terminal::print_error(failure);
  for (const dump::Problem& problem : dump.problems())
    terminal::print_error(problem.path.string() + ": " + problem.what);
  for (const std::string& process : converter.left_out()) terminal::print_error(process);
  if (!logged) terminal::print_error(logged.error().message());
  const std::size_t failures = converter.failures().size();
  if (failures > 0) text += "; " + std::to_string(failures) + " could not be";
  terminal::print(text + "\n");
  const bool is_whole = failures == 0 && dump.problems().empty() && converter.left_out().empty() && logged;
  return static_cast<int>(is_whole ? Exit::match : Exit::incomplete);
}

// Keeps what an earlier conversion into the same folder has written.
Result<> add_mapping(const fs::path& folder, const std::string& lines) {
  constexpr std::uint64_t kMostBytes = 1 << 30;
  if (lines.empty()) return ok();
  const fs::path path = folder / format::kMappingCsvName;
  std::string text;
  if (std::error_code error; fs::is_regular_file(fs::symlink_status(path, error))) {
    OPDUMP_TRY(text, read_file(path, kMostBytes));
  }
  return write_file_atomic(path, text + lines, 0666);
}

Result<int> convert_in(const group::Group& group, const ConvertArguments& arguments) {
  ConvertTarget target{arguments.output, arguments.to, std::nullopt, arguments.slot};
  if (target.is_golden() && target.slot.empty()) target.slot = model::kSideNames[1];
  if (!arguments.format.empty()) target.format = model::find_format(arguments.format);
  const group::Share share{group.rank(), group.size(), 0,
                           [&](const std::string& mine) { return group.exchange(mine); }};
  const LogSink log = group.is_leader() ? LogSink(terminal::print_remark) : LogSink();
  auto plan = make_convert_plan(arguments, target, log);
  if (!plan) {
    if (group.size() > 1) OPDUMP_CHECK_OK(group::withdraw(share, plan.error().message()));
    return plan.take_error();
  }
  if (group.is_leader()) remark_unfinished(plan->dump);
  Converter converter(target, *plan, group);
  OPDUMP_CHECK_OK(converter.run(share));
  if (!group.is_leader()) return 0;
  OPDUMP_CHECK_OK(add_mapping(arguments.output, converter.mapping()));
  Result<> logged = ok();
  if (target.is_dump())
    logged = write_operator_logs(plan->dump.runs(), plan->chosen, target.slot, target.output);
  return report(converter, plan->dump, logged, arguments.output);
}

}  // namespace

Result<int> run_convert(std::span<const char* const> args) {
  CLI::App app("Writes the tensors of a dump as files that other programs read.", "opdump convert");
  ConvertArguments arguments;
  declare(app, arguments);
  if (auto stop = parse_arguments(app, args)) return *stop;
  if (!arguments.format.empty() && !model::find_format(arguments.format))
    return Error(Code::usage,
                 "--format: there is no layout " + arguments.format + "; expected NCHW, NHWC, ND, ...");
  if (arguments.to == "golden" && arguments.slot.starts_with(model::kSideNames[0]))
    return Error(Code::usage, "--slot: golden data has outputs only");
  OPDUMP_TRY(const group::Group group, group::Group::join());
  auto status = convert_in(group, arguments);
  return group.is_leader() ? std::move(status) : Result<int>(0);  // the leader speaks for all
}

}  // namespace opdump::cli
