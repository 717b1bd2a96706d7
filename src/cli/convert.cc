// `opdump convert DUMP -o OUT --to npy`: the tensors of a dump as files that other programs read.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/worker_pool.h"
#include "cli/arguments.h"
#include "cli/convert_item.h"
#include "cli/select.h"
#include "cli/verb.h"
#include "compare/shared_work.h"
#include "group/group.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kBigFile = 32 << 20;    // converted alone, by all threads
constexpr std::size_t kOperatorsAtOnce = 4096;  // whose names and places are in memory

struct ConvertArguments {
  std::string path, output, to = "npy", format, slot;
  RunFilter filter;
};

void declare(CLI::App& app, ConvertArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root or any directory below")->required();
  app.add_option("-o,--output", arguments.output, "Where the files go; made if it is missing")->required();
  app.add_option("--to", arguments.to,
                 "npy (default), bin, txt, pt: a file for each tensor; npz, safetensors: one for each step")
      ->check(CLI::IsMember({"npy", "bin", "txt", "pt", "npz", "safetensors"}));
  app.add_option("--format", arguments.format,
                 "The layout to bring accelerator's tensors into: NCHW, ND, ...");
  add_filter(app, arguments.filter);
  app.add_option("--slot", arguments.slot, "Only this slot of each: input.0, output.1, ...");
  app.footer(
      "Examples:\n"
      "  opdump convert golden -o arrays\n"
      "  opdump convert golden -o arrays --to safetensors --step 3\n"
      "  opdump convert cann_dump -o arrays --to npz --format NCHW --op conv --slot output.0");
}

// Makes `directory` below `root`. What is a link already leads elsewhere, and is refused.
Result<> make_inside(const fs::path& root, const fs::path& directory) {
  OPDUMP_CHECK_OK(make_directories(root, 0700));
  fs::path path = root;
  for (const fs::path& part : directory) {
    path /= part;
    struct stat info {};
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_error(path, "create directory");
    if (::lstat(path.c_str(), &info) != 0) return io_error(path, "stat");
    if (!S_ISDIR(info.st_mode)) return Error(Code::io, path.string() + ": not a directory");
  }
  return ok();
}

// A part of a dump: whole steps. Of the dump's runs those that the user means, from `first` to before `last`.
struct Batch {
  std::size_t first = 0, last = 0;
};

// What is known before there is work to divide.
struct Plan {
  dump::DumpSet dump;
  std::vector<std::uint32_t> chosen;  // of its runs
  std::vector<Batch> batches;
  std::uint64_t bytes = 0;
  std::string digest;  // of what decides about the files that are made
};

// Converts a dump, or a part of it if a group of processes does it together.
class Converter {
 public:
  Converter(const ConvertArguments& arguments, const ConvertTarget& target, const Plan& plan,
            const group::Group& group)
      : arguments_(arguments), target_(target), plan_(plan), group_(group), progress_("converting") {}

  Result<> run(const compare::Share& among) {
    std::optional<compare::SharedWork> shared;
    if (among.size > 1) {
      OPDUMP_TRY(shared, compare::SharedWork::join(among, plan_.digest, plan_.batches.size()));
      if (!shared->takes_part()) return shared->sit_out();
      left_out_ = shared->problems();
    }
    for (const Batch& batch : plan_.batches) OPDUMP_CHECK_OK(convert(batch, shared));
    return ok();
  }

  // Of all processes, in the leader. The order is that of the dump.
  std::uint64_t converted() const { return converted_; }
  const std::vector<std::string>& failures() const { return failures_; }
  // Processes that did not do their part.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  Result<> convert(const Batch& batch, std::optional<compare::SharedWork>& shared) {
    const auto chosen = std::span(plan_.chosen).subspan(batch.first, batch.last - batch.first);
    OPDUMP_TRY(const SlotList list, list_slots(plan_.dump.runs(), chosen, arguments_.slot));
    items_ = list_items(list.steps, target_);
    results_.assign(items_.size(), {});
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
      const bool is_big = items_[i].slot != nullptr && items_[i].bytes > kBigFile;
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
    ItemResult result = convert_item(items_[i], target_, threads, on_done);
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
  Result<> share(compare::SharedWork& work) {
    std::vector<std::uint64_t> bytes;
    for (const ConvertItem& item : items_) bytes.push_back(item.bytes);
    const auto convert_own = [&](std::span<const std::size_t> own) {
      convert(own);
      return answers_of(own);
    };
    OPDUMP_TRY(const compare::SharedAnswers shared, work.run(bytes, convert_own));
    if (!group_.is_leader()) return ok();
    for (const std::size_t rank : shared.workers) {
      if (shared.answers[rank].empty() && std::ranges::count(shared.owner, rank) > 0)
        left_out_.push_back("process " + std::to_string(rank) + ": it died, and process 0 did its part");
      if (rank != 0) take_answers(shared.answers[rank]);
    }
    std::vector<std::size_t> left;
    for (const std::size_t rank : shared.workers) {
      if (shared.answers[rank].empty() && std::ranges::count(shared.owner, rank) > 0)
        left_out_.push_back("process " + std::to_string(rank) + ": it died, and process 0 did its part");
      if (rank != 0) take_answers(shared.answers[rank]);
    }
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (!is_done_[i]) left.push_back(i);
    convert(left);
    return ok();
  }

  std::string answers_of(std::span<const std::size_t> own) const {
    Json answers = Json::array();
    for (const std::size_t i : own) answers.push_back({i, results_[i].converted, results_[i].failures});
    const auto bytes = Json::to_msgpack(answers);
    return std::string(bytes.begin(), bytes.end());
  }

  // Of a process that runs the same program.
  void take_answers(const std::string& bytes) {
    const Json answers = Json::from_msgpack(bytes, true, false);
    if (!answers.is_array()) return;
    for (const Json& answer : answers)
      note(answer[0].get<std::size_t>(),
           {answer[1].get<std::uint64_t>(), answer[2].get<std::vector<std::string>>()});
  }

  const ConvertArguments& arguments_;
  const ConvertTarget& target_;
  const Plan& plan_;
  const group::Group& group_;
  std::uint64_t converted_ = 0;
  std::vector<std::string> failures_;
  std::vector<ConvertItem> items_;  // of the batch
  std::vector<ItemResult> results_;
  std::vector<bool> is_done_;
  std::vector<std::string> left_out_;
  std::mutex mutex_;  // guards results_, is_done_ and what follows
  terminal::Progress progress_;
  std::uint64_t done_bytes_ = 0, begun_bytes_ = 0;
};

Result<int> report(const Converter& converter, const dump::DumpSet& dump, const std::string& output) {
  const std::vector<std::string>& failures = converter.failures();
  std::string text = "converted " + counted(converter.converted(), "tensor") + " into " + output;
  for (const std::string& failure : failures) terminal::print_error(failure);
  for (const dump::Problem& problem : dump.problems())
    terminal::print_error(problem.path.string() + ": " + problem.what);
  for (const std::string& process : converter.left_out()) terminal::print_error(process);
  if (!failures.empty()) text += "; " + std::to_string(failures.size()) + " could not be";
  terminal::print(text + "\n");
  const bool is_whole = failures.empty() && dump.problems().empty() && converter.left_out().empty();
  return static_cast<int>(is_whole ? Exit::match : Exit::incomplete);
}

// Whole steps, some thousand operators together.
std::vector<Batch> make_batches(const dump::Runs& runs, std::span<const std::uint32_t> chosen) {
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool is_other_step =
        i == 0 || place_of(runs.section_of(chosen[i])) != place_of(runs.section_of(chosen[i - 1]));
    if (batches.empty() || (is_other_step && i - batches.back().first >= kOperatorsAtOnce))
      batches.push_back({i, i});
    batches.back().last = i + 1;
  }
  return batches;
}

// Looks at everything once, and makes the directories. What can go wrong before there is work to divide does.
Result<Plan> make_plan(const ConvertArguments& arguments, const ConvertTarget& target, const LogSink& tell) {
  OPDUMP_TRY(dump::DumpSet dump, dump::DumpSet::open(arguments.path, tell));
  OPDUMP_TRY(std::vector<std::uint32_t> chosen, select_runs(dump, arguments.filter));
  std::uint64_t bytes = 0, count = 0;
  std::string seen;
  fs::path made;
  for (const std::uint32_t i : chosen) {
    const dump::OperatorRun run = dump.runs()[i];
    const fs::path place = place_of(dump.runs().section_of(i));
    for (const dump::Slot& slot : run.slots) {
      if (!is_wanted(slot, arguments.slot)) continue;
      ++count;
      bytes += slot.stored_bytes();
      compare::note_seen(seen, place.string() + " " + run.name + " " + std::to_string(slot.index) + " " +
                                   std::to_string(slot.stored_bytes()));
      if (place == made) continue;
      OPDUMP_CHECK_OK(make_inside(target.output, target.is_file_each() ? place : place.parent_path()));
      made = place;
    }
  }
  if (count == 0)
    return Error(Code::not_found,
                 arguments.path + ": no tensor to convert: statistics only, or another --slot");
  for (const dump::Problem& problem : dump.problems()) compare::note_seen(seen, problem.what);
  std::vector<Batch> batches = make_batches(dump.runs(), chosen);
  return Plan{std::move(dump), std::move(chosen), std::move(batches), bytes, compare::digest_of(seen)};
}

Result<int> convert_in(const group::Group& group, const ConvertArguments& arguments) {
  ConvertTarget target{arguments.output, arguments.to, std::nullopt};
  if (!arguments.format.empty()) target.format = model::find_format(arguments.format);
  const compare::Share share{group.rank(), group.size(), 0,
                             [&](const std::string& mine) { return group.exchange(mine); }};
  auto plan = make_plan(arguments, target, group.is_leader() ? LogSink(terminal::print_remark) : LogSink());
  if (!plan) {
    if (group.size() > 1) OPDUMP_CHECK_OK(compare::stay_out(share, plan.error().message()));
    return plan.take_error();
  }
  Converter converter(arguments, target, *plan, group);
  OPDUMP_CHECK_OK(converter.run(share));
  if (!group.is_leader()) return 0;
  return report(converter, plan->dump, arguments.output);
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
  OPDUMP_TRY(const group::Group group, group::Group::join());
  auto status = convert_in(group, arguments);
  return group.is_leader() ? std::move(status) : Result<int>(0);  // the leader speaks for all
}

}  // namespace opdump::cli
