// `opdump convert DUMP -o OUT --to npy`: the tensors of a dump as files that other programs read.
#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/worker_pool.h"
#include "cli/arguments.h"
#include "cli/convert_item.h"
#include "cli/select.h"
#include "cli/slot_facts.h"
#include "cli/verb.h"
#include "compare/shared_work.h"
#include "group/group.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kBigFile = 32 << 20;  // converted alone, by all threads

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

// Converts a dump, or a part of it if a group of processes does it together.
class Converter {
 public:
  Converter(const ConvertTarget& target, const std::vector<StepSlots>& steps, const group::Group& group)
      : target_(target),
        group_(group),
        items_(list_items(steps, target)),
        results_(items_.size()),
        is_done_(items_.size()),
        progress_("converting") {
    for (const ConvertItem& item : items_) total_bytes_ += item.bytes;
  }

  // `digest` is equal for processes that see the same dump.
  Result<> run(const compare::Share& among, const std::string& digest) {
    if (among.size > 1) return share(among, digest);
    std::vector<std::size_t> all(items_.size());
    std::iota(all.begin(), all.end(), 0);
    convert(all);
    return ok();
  }

  // Of all processes, in the leader. The order is that of the dump.
  std::uint64_t converted() const {
    return std::accumulate(
        results_.begin(), results_.end(), std::uint64_t{0},
        [](std::uint64_t sum, const ItemResult& result) { return sum + result.converted; });
  }
  std::vector<std::string> failures() const {
    std::vector<std::string> lines;
    for (const ItemResult& result : results_)
      lines.insert(lines.end(), result.failures.begin(), result.failures.end());
    return lines;
  }
  // Processes that did not do their part.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
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
      progress_.update(done_bytes_ + begun_bytes_, total_bytes_);
    };
    ItemResult result = convert_item(items_[i], target_, threads, on_done);
    const std::lock_guard lock(mutex_);
    begun_bytes_ -= begun;
    note(i, std::move(result));
    progress_.update(done_bytes_ + begun_bytes_, total_bytes_);
  }

  void note(std::size_t i, ItemResult result) {
    results_[i] = std::move(result);
    is_done_[i] = true;
    done_bytes_ += items_[i].bytes;
  }

  // Converts a part of the items and learns from the others what became of theirs. The leader converts what a
  // process that died has left.
  Result<> share(const compare::Share& share, const std::string& digest) {
    std::vector<std::uint64_t> bytes;
    for (const ConvertItem& item : items_) bytes.push_back(item.bytes);
    const auto work = [&](std::span<const std::size_t> own) {
      convert(own);
      return answers_of(own);
    };
    OPDUMP_TRY(compare::SharedAnswers shared, compare::share_work(share, digest, bytes, work));
    if (!group_.is_leader()) return ok();
    left_out_ = std::move(shared.problems);
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

  const ConvertTarget& target_;
  const group::Group& group_;
  std::vector<ConvertItem> items_;
  std::vector<ItemResult> results_;
  std::vector<bool> is_done_;
  std::vector<std::string> left_out_;
  std::mutex mutex_;  // guards results_, is_done_ and what follows
  terminal::Progress progress_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0, begun_bytes_ = 0;
};

// What of the dump decides about the files that are made of it.
std::string description_of(const std::vector<StepSlots>& steps, const dump::DumpSet& dump) {
  std::string text;
  for (const StepSlots& step : steps)
    for (const NamedSlot& slot : step.slots)
      text += step.place.string() + "/" + slot.name + " " + std::to_string(file_bytes(*slot.slot)) + "\n";
  for (const dump::Problem& problem : dump.problems()) text += problem.what + "\n";
  return text;
}

Result<int> report(const Converter& converter, const dump::DumpSet& dump, const std::string& output) {
  const std::vector<std::string> failures = converter.failures();
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

// What can go wrong before there is work to divide.
struct Prepared {
  dump::DumpSet dump;
  std::vector<StepSlots> steps;
};
Result<Prepared> prepare(const ConvertArguments& arguments, const ConvertTarget& target,
                         const LogSink& tell) {
  OPDUMP_TRY(dump::DumpSet dump, dump::DumpSet::open(arguments.path, tell));
  OPDUMP_TRY(const auto runs, select_runs(dump, arguments.filter));
  std::vector<StepSlots> steps = list_slots(runs, arguments.slot);
  if (steps.empty())
    return Error(Code::not_found,
                 arguments.path + ": no tensor to convert: statistics only, or another --slot");
  for (const StepSlots& step : steps)
    OPDUMP_CHECK_OK(
        make_inside(target.output, target.is_file_each() ? step.place : step.place.parent_path()));
  return Prepared{std::move(dump), std::move(steps)};
}

Result<int> convert_in(const group::Group& group, const ConvertArguments& arguments) {
  ConvertTarget target{arguments.output, arguments.to, std::nullopt};
  if (!arguments.format.empty()) target.format = model::find_format(arguments.format);
  const compare::Share share{group.rank(), group.size(), 0,
                             [&](const std::string& mine) { return group.exchange(mine); }};
  auto prepared = prepare(arguments, target, group.is_leader() ? LogSink(terminal::print_remark) : LogSink());
  if (!prepared) {
    if (group.size() > 1) OPDUMP_CHECK_OK(compare::stay_out(share, prepared.error().message()));
    return prepared.take_error();
  }
  Converter converter(target, prepared->steps, group);
  OPDUMP_CHECK_OK(converter.run(share, compare::digest_of(description_of(prepared->steps, prepared->dump))));
  if (!group.is_leader()) return 0;
  return report(converter, prepared->dump, arguments.output);
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
