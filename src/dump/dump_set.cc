#include "dump/dump_set.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "dump/file_name.h"
#include "dump/step_reader.h"
#include "dump/tree_location.h"
#include "format/mapping_csv.h"

namespace opdump::dump {
namespace fs = std::filesystem;

SlotStatistics::SlotStatistics(const Columns& columns) {
  if (columns.empty()) return;
  std::vector<std::string> names, values;
  for (const auto& [name, value] : columns) {
    names.push_back(name);
    values.push_back(value);
  }
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  values_ = PackedTexts(values);
}

SlotStatistics::SlotStatistics(std::shared_ptr<const std::vector<std::string>> names,
                               std::span<const std::string> values)
    : names_(names->empty() ? nullptr : std::move(names)), values_(values) {}

SlotStatistics::Columns SlotStatistics::columns() const {
  Columns columns;
  if (names_ == nullptr) return columns;
  std::vector<std::string> values = values_.texts();
  for (std::size_t i = 0; i < names_->size(); ++i) columns.emplace_back((*names_)[i], std::move(values[i]));
  return columns;
}

namespace {

constexpr std::uint64_t kNoTime = UINT64_MAX;
constexpr std::size_t kMaxWalkDepth = 32;  // of directories below what was opened

std::uint64_t first_timestamp(const OperatorRun& run) {
  std::uint64_t first = kNoTime;
  for (const Slot& slot : run.slots)
    if (slot.timestamp_us != 0) first = std::min(first, slot.timestamp_us);
  return first;
}

// The names of the directories in `directory`, as far as it can be listed. Links are none.
std::set<std::string> directories_in(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown) && at->is_directory(unknown)) names.insert(at->path().filename().string());
  }
  return names;
}

// True if `rank` is a device so far.
bool is_by_device(const Location& location) {
  return !location.has_rank &&
         (location.scheme == Scheme::model_tree || location.scheme == Scheme::time_tree);
}

std::tuple<model::Side, std::uint32_t> place_of(const Slot& slot) { return {slot.side, slot.index}; }

// The log names a slot once, at the first step it was seen: it has no data in later steps either, unless they
// do have it.
void add_undumped(OperatorRun& run, const UndumpedSlot& from) {
  const auto wanted = std::tuple(from.side, from.index);
  const auto place = std::ranges::lower_bound(run.slots, wanted, {}, place_of);
  if (run.step < from.step || (place != run.slots.end() && place_of(*place) == wanted)) return;
  Slot& slot = *run.slots.emplace(place);
  slot.side = from.side;
  slot.index = from.index;
  slot.dtype = from.dtype;
  slot.shape = from.shape;
  slot.undumped_reason = from.reason;
}

}  // namespace

// Builds a DumpSet: walks the directories, reads each step, then brings in what the rank's own files know.
class DumpSetReader {
  using RunsByOperator = std::map<const model::Operator*, std::vector<std::size_t>>;  // indexes into runs_

 public:
  explicit DumpSetReader(fs::path path) { set_.path_ = std::move(path); }
  Result<DumpSet> read();
  void tell_older(const fs::path& opened, const LogSink& tell) const;

 private:
  Result<> find_ancestors();
  Result<> read_all();
  std::string prefix_of(const Location& location) const;
  void find_ranks_beside();
  bool walk(const fs::path& directory, std::size_t depth);
  void leave_out_older(const fs::path& directory, const std::set<std::string>& subdirectories);
  void note_entry(const fs::directory_entry& entry, StepFiles& files, std::set<std::string>& subdirectories);
  void read_file_alone();
  void read_step_directory(StepFiles files);
  fs::path note_net(const Location& location);
  void place_devices();
  void place_constants();
  void read_rank(std::uint32_t rank, const fs::path& directory);
  void join_log(std::uint32_t rank, const OperatorLog& log);
  std::size_t add_run(std::uint32_t rank, const model::Operator& op, std::int64_t graph_id,
                      std::int64_t step);
  void tell_models_apart();
  void report_several_nets();
  void sort_runs();

  DumpSet set_;
  // What was recorded into one place at once: of layout (B) that is a step, of the others all of a rank.
  using Recording = std::tuple<Scheme, std::uint32_t, std::int64_t>;

  std::vector<std::string> trail_;      // names of the directories that lead to the one being read
  std::size_t first_inside_ = 0;        // of these, the first below what the user opened
  bool is_file_ = false;                // what the user opened is no directory
  std::vector<std::size_t> constants_;  // runs of constants, by index
  std::vector<std::size_t> device_runs_, device_overflows_;  // whose rank is a device so far, by index
  std::set<fs::path> older_;        // directories of networks of which a later recording has the same
  std::optional<fs::path> beside_;  // the root of a tree whose ranks do not lead to its steps
  std::map<Recording, std::set<std::string>> nets_;  // paths below what was opened
  std::vector<std::tuple<std::size_t, std::uint32_t, std::string>> model_runs_;  // index, rank, network
  std::map<const model::Operator*, std::size_t> log_order_;
};

Result<DumpSet> DumpSetReader::read() {
  OPDUMP_CHECK_OK(find_ancestors());
  OPDUMP_CHECK_OK(read_all());
  find_ranks_beside();
  place_devices();
  place_constants();
  check_tensor_files(set_.runs_, set_.problems_);
  for (const auto& [rank, directory] : set_.rank_directories_) read_rank(rank, directory);
  tell_models_apart();
  report_several_nets();
  sort_runs();
  return std::move(set_);
}

Result<> DumpSetReader::read_all() {
  if (is_file_)
    read_file_alone();
  else if (!walk(set_.path_, 0))
    return Error(Code::io, std::ranges::find(set_.problems_, set_.path_, &Problem::path)->what);
  if (!set_.runs_.empty() || !set_.overflows_.empty() || !set_.rank_directories_.empty()) return ok();
  std::string text = set_.path_.string() + ": no dump";
  if (is_file_ && !set_.problems_.empty())
    return Error(Code::not_found, text + ": " + set_.problems_[0].what);
  text +=
      ": expected rank_N/net/graph/step or another tree of MindSpore's or CANN's, .npy, .npz, .safetensors "
      "or .h5 files, "
      "or "
      "statistic.csv";
  if (!set_.problems_.empty()) text += "; " + set_.problems_[0].path.string() + ": " + set_.problems_[0].what;
  return Error(Code::not_found, std::move(text));
}

// A directory inside a tree is told by the names above it, and belongs to the rank above it.
Result<> DumpSetReader::find_ancestors() {
  std::error_code failed;
  const fs::path whole = fs::canonical(set_.path_, failed);
  if (failed) {
    const bool missing =
        failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
    return Error(missing ? Code::not_found : Code::io, set_.path_.string() + ": " + failed.message());
  }
  is_file_ = fs::is_regular_file(whole, failed);
  if (!is_file_ && !fs::is_directory(whole, failed))
    return Error(Code::not_found, set_.path_.string() + ": neither a directory nor a file; expected a dump");
  for (const fs::path& part : is_file_ ? whole.parent_path().relative_path() : whole.relative_path())
    trail_.push_back(part.string());
  first_inside_ = trail_.size();
  fs::path ancestor = whole;
  for (std::size_t up = 0; up < kMaxTreeDepth && ancestor.has_relative_path();
       ++up, ancestor = ancestor.parent_path()) {
    if (const auto rank = find_rank(ancestor.filename().string())) {
      set_.rank_directories_[*rank] = ancestor;
      break;
    }
  }
  return ok();
}

// Where ranks do not lead to the steps, their directories lie beside those that do: above what was opened, if
// that is a part of the dump only.
void DumpSetReader::find_ranks_beside() {
  if (!set_.rank_directories_.empty() || !beside_) return;
  std::error_code failed;
  fs::directory_iterator entries(*beside_, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    const auto rank = find_rank(entries->path().filename().string());
    std::error_code unknown;
    if (rank && !entries->is_symlink(unknown) && entries->is_directory(unknown))
      set_.rank_directories_[*rank] = entries->path();
  }
}

// A tree that knows devices only: of a single rank, the single device is its own; otherwise they bear the
// same number.
void DumpSetReader::place_devices() {
  std::set<std::uint32_t> devices;
  for (const std::size_t i : device_runs_) devices.insert(set_.runs_[i].rank);
  for (const std::size_t i : device_overflows_) devices.insert(set_.overflows_[i].rank);
  if (devices.size() != 1 || set_.rank_directories_.size() != 1) return;
  const std::uint32_t rank = set_.rank_directories_.begin()->first;
  for (const std::size_t i : device_runs_) set_.runs_[i].rank = rank;
  for (const std::size_t i : device_overflows_) set_.overflows_[i].rank = rank;
}

// Reads the step directories below. False if `directory` cannot be listed, which is then a problem.
bool DumpSetReader::walk(const fs::path& directory, std::size_t depth) {
  std::error_code failed;
  StepFiles files;
  files.directory = directory;
  std::set<std::string> subdirectories;
  fs::directory_iterator entries(directory, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed))
    note_entry(*entries, files, subdirectories);
  if (failed) set_.problems_.push_back({directory, directory.string() + ": " + failed.message()});
  std::ranges::sort(files.names);
  if (std::ranges::any_of(files.names, is_dump_file)) read_step_directory(std::move(files));
  leave_out_older(directory, subdirectories);
  for (const std::string& name : subdirectories) {
    const fs::path path = directory / name;
    if (older_.contains(path)) continue;
    if (const auto rank = find_rank(name)) set_.rank_directories_.try_emplace(*rank, path);
    if (depth == kMaxWalkDepth) {
      set_.problems_.push_back({path, "deeper than any dump; not looked into"});
      continue;
    }
    trail_.push_back(name);
    walk(path, depth + 1);
    trail_.pop_back();
  }
  return !failed;
}

// Of what lies in several {time}/{device}/{net} the last one is read.
void DumpSetReader::leave_out_older(const fs::path& directory, const std::set<std::string>& subdirectories) {
  if (std::ranges::count_if(subdirectories, is_time) < 2) return;
  std::map<fs::path, fs::path> last;  // by {device}/{net}
  for (const std::string& time : subdirectories) {
    if (!is_time(time)) continue;
    for (const std::string& device : directories_in(directory / time))
      for (const std::string& net : directories_in(directory / time / device)) {
        const fs::path path = directory / time / device / net;
        const auto [known, is_new] = last.try_emplace(fs::path(device) / net, path);
        if (!is_new) older_.insert(std::exchange(known->second, path));
      }
  }
}

void DumpSetReader::tell_older(const fs::path& opened, const LogSink& tell) const {
  if (older_.empty() || !tell) return;
  const fs::path recording = older_.begin()->parent_path().parent_path();
  tell(LogLevel::warning, opened.string() + ": of several recordings the last one is read; " +
                              recording.string() + " is one that is not, unless it is named");
}

void DumpSetReader::note_entry(const fs::directory_entry& entry, StepFiles& files,
                               std::set<std::string>& subdirectories) {
  std::error_code failed;
  std::string name = entry.path().filename().string();
  // In this order nothing is looked up: the directory itself told the types.
  if (entry.is_symlink(failed))
    set_.problems_.push_back({entry.path(), "symbolic link; links inside a dump are not followed"});
  else if (entry.is_directory(failed))
    subdirectories.insert(std::move(name));
  else if (entry.is_regular_file(failed))
    files.names.push_back(std::move(name));
}

// A file that the user has named, be it a link.
void DumpSetReader::read_file_alone() {
  StepFiles files;
  files.directory = set_.path_.parent_path();
  files.names = {set_.path_.filename().string()};
  files.is_alone = true;
  std::error_code failed;
  if (fs::is_regular_file(files.directory / format::kMappingCsvName, failed))
    files.mapping = files.directory / format::kMappingCsvName;
  read_step_directory(std::move(files));
}

// The path below what was opened, without the numbers that are taken for graph and step.
std::string DumpSetReader::prefix_of(const Location& location) const {
  std::size_t last = trail_.size();
  if (last > first_inside_ && parse_int64(trail_[last - 1]) == location.step) --last;
  if (last + 1 == trail_.size() && last > first_inside_ && parse_int64(trail_[last - 1]) == location.graph_id)
    --last;
  std::string prefix;
  for (std::size_t i = first_inside_; i < last; ++i) prefix += trail_[i] + "/";
  return prefix;
}

void DumpSetReader::read_step_directory(StepFiles files) {
  const Location location = locate(trail_, first_inside_);
  if (!location.is_tree || files.is_alone) files.prefix = prefix_of(location);
  StepContent content = read_step(files, set_.problems_);
  if (content.runs.empty() && content.overflows.empty()) return;
  const fs::path model = note_net(location);
  const bool by_device = is_by_device(location);
  for (OperatorRun& run : content.runs) {
    if (!model.empty()) model_runs_.emplace_back(set_.runs_.size(), location.rank, model.filename().string());
    run.rank = location.rank;
    run.graph_id = location.graph_id;
    run.step += location.step;
    if (location.constants) constants_.push_back(set_.runs_.size());
    if (by_device) device_runs_.push_back(set_.runs_.size());
    set_.runs_.push_back(std::move(run));
  }
  for (Overflow& overflow : content.overflows) {
    overflow.rank = location.rank;
    overflow.graph_id = location.graph_id;
    overflow.step = location.step;
    if (by_device) device_overflows_.push_back(set_.overflows_.size());
    set_.overflows_.push_back(std::move(overflow));
  }
}

// Returns the path of the network as nets_ has it; nothing if the directory is of none.
fs::path DumpSetReader::note_net(const Location& location) {
  const auto joined = [&](std::size_t first, std::size_t last) {
    fs::path path;
    for (std::size_t i = first; i < last; ++i) path /= trail_[i];
    return path;
  };
  if (is_by_device(location) && !beside_) beside_ = "/" / joined(0, location.root_length);
  // Of any folder only {net}/{graph}/{step} is taken for a recording.
  const auto is_number = [&](std::size_t up) { return parse_int64(trail_[trail_.size() - up]).has_value(); };
  if (location.net_length == 0 || (!location.is_tree && !(is_number(1) && is_number(2)))) return {};
  const std::int64_t step = location.scheme == Scheme::model_tree ? location.step : -1;
  fs::path net = joined(std::min(first_inside_, location.net_length - 1), location.net_length);
  nets_[{location.scheme, location.rank, step}].insert(net.string());
  return net;
}

// Constants are written once for a graph: they belong to the first of its steps.
void DumpSetReader::place_constants() {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> first_steps;
  const std::set<std::size_t> constants(constants_.begin(), constants_.end());
  for (std::size_t i = 0; i < set_.runs_.size(); ++i) {
    const OperatorRun& run = set_.runs_[i];
    if (constants.contains(i)) continue;
    const auto [found, added] = first_steps.try_emplace({run.rank, run.graph_id}, run.step);
    if (!added) found->second = std::min(found->second, run.step);
  }
  for (const std::size_t i : constants_) {
    OperatorRun& run = set_.runs_[i];
    const auto found = first_steps.find({run.rank, run.graph_id});
    run.step = found == first_steps.end() ? 0 : found->second;
  }
}

void DumpSetReader::read_rank(std::uint32_t rank, const fs::path& directory) {
  if (auto status = read_status(directory))
    set_.statuses_[rank] = std::move(*status);
  else if (status.error().code() != Code::not_found)
    set_.problems_.push_back({directory / kStatusFileName, status.error().message()});

  auto log = read_operator_log(directory);
  if (!log) {
    if (log.error().code() != Code::not_found)
      set_.problems_.push_back({directory / kOperatorLogName, log.error().message()});
    return;
  }
  if (log->damaged_lines > 0)
    set_.problems_.push_back(
        {directory / kOperatorLogName, std::to_string(log->damaged_lines) + " damaged lines"});
  set_.logs_.push_back(std::make_unique<OperatorLog>(std::move(*log)));
  join_log(rank, *set_.logs_.back());
}

// Tells runs which operator they are, and adds the slots that have no data.
void DumpSetReader::join_log(std::uint32_t rank, const OperatorLog& log) {
  std::map<std::tuple<std::int64_t, std::string, std::string>, const model::Operator*> by_file_name;
  std::map<std::pair<std::int64_t, std::string_view>, const model::Operator*> by_full_name;
  for (const model::Operator& op : log.operators) {
    by_file_name.try_emplace({op.graph_id, file_type(op), file_op_name(op)}, &op);
    by_file_name.try_emplace({op.graph_id, plain_name(op.type), plain_name(op.name)}, &op);
    by_full_name[{op.graph_id, op.name}] = &op;
    log_order_[&op] = log_order_.size();
  }
  const auto find_operator = [&](const OperatorRun& run) -> const model::Operator* {
    for (const std::int64_t graph_id : {run.graph_id, model::kAnyGraph})
      if (const auto op = by_file_name.find({graph_id, run.type, run.name}); op != by_file_name.end())
        return op->second;
    return nullptr;
  };
  RunsByOperator runs;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> graphs;  // of {graph or any, step}
  for (std::size_t i = 0; i < set_.runs_.size(); ++i) {
    OperatorRun& run = set_.runs_[i];
    if (run.rank != rank) continue;
    for (const std::int64_t graph_id : {run.graph_id, model::kAnyGraph})
      graphs.emplace(std::pair(graph_id, run.step), run.graph_id);
    run.op = find_operator(run);
    if (run.op) runs[run.op].push_back(i);
  }
  for (const UndumpedSlot& slot : log.undumped) {
    const auto op = by_full_name.find({slot.graph_id, slot.operator_name});
    if (op == by_full_name.end()) continue;
    std::vector<std::size_t>& of_operator = runs[op->second];
    const auto at_first_step = [&](std::size_t i) { return set_.runs_[i].step == slot.step; };
    const auto graph = graphs.find({slot.graph_id, slot.step});
    if (graph != graphs.end() && std::ranges::none_of(of_operator, at_first_step))
      of_operator.push_back(add_run(rank, *op->second, graph->second, slot.step));
    for (const std::size_t i : of_operator) add_undumped(set_.runs_[i], slot);
  }
}

// An operator of which nothing was dumped. Returns its index.
std::size_t DumpSetReader::add_run(std::uint32_t rank, const model::Operator& op, std::int64_t graph_id,
                                   std::int64_t step) {
  OperatorRun& run = set_.runs_.emplace_back();
  run.rank = rank;
  run.graph_id = graph_id;
  run.step = step;
  run.type = file_type(op);
  run.name = file_op_name(op);
  run.op = &op;
  return set_.runs_.size() - 1;
}

// Of several models in one recording of CANN, operators are told apart by the model's name.
void DumpSetReader::tell_models_apart() {
  std::set<std::uint32_t> ranks;
  std::erase_if(nets_, [&](const auto& entry) {
    const auto& [recording, nets] = entry;
    const auto [scheme, rank, step] = recording;
    const fs::path parent = fs::path(*nets.begin()).parent_path();
    const bool are_models =
        (scheme == Scheme::model_tree || scheme == Scheme::time_tree) && nets.size() > 1 &&
        std::ranges::all_of(nets, [&](const fs::path& net) { return net.parent_path() == parent; });
    if (are_models) ranks.insert(rank);
    return are_models;
  });
  for (const auto& [index, rank, model] : model_runs_)
    if (ranks.contains(rank)) set_.runs_[index].name.insert(0, model + "/");
}

void DumpSetReader::report_several_nets() {
  std::set<std::uint32_t> told;
  for (const auto& [recording, nets] : nets_) {
    const std::uint32_t rank = std::get<1>(recording);
    if (nets.size() < 2 || !told.insert(rank).second) continue;
    std::string names;
    for (const std::string& net : nets) names += (names.empty() ? "" : ", ") + net;
    set_.problems_.push_back({set_.path_, "several recordings of rank " + std::to_string(rank) +
                                              ", read as one; expected one of these directories: " + names});
  }
}

// By time; operators of one microsecond, and those without data, as the log has them.
void DumpSetReader::sort_runs() {
  struct Order {
    std::tuple<std::uint32_t, std::int64_t, std::int64_t> step;
    std::uint64_t time;
    std::size_t log_order, index;
    auto operator<=>(const Order&) const = default;
  };
  std::vector<Order> order;
  std::map<std::pair<decltype(Order::step), std::size_t>, std::uint64_t> times;  // of operators in the log
  for (std::size_t i = 0; i < set_.runs_.size(); ++i) {
    const OperatorRun& run = set_.runs_[i];
    const std::size_t log_order = run.op == nullptr ? SIZE_MAX : log_order_.at(run.op);
    order.push_back({{run.rank, run.step, run.graph_id}, first_timestamp(run), log_order, i});
    if (run.op != nullptr && order.back().time != kNoTime)
      times.try_emplace({order.back().step, log_order}, order.back().time);
  }
  for (Order& run : order) {
    if (run.time != kNoTime) continue;
    const auto next = times.upper_bound({run.step, run.log_order});
    if (next != times.end() && next->first.first == run.step) run.time = next->second;
  }
  std::ranges::sort(order);
  std::vector<OperatorRun> sorted;
  sorted.reserve(order.size());
  for (const Order& run : order) sorted.push_back(std::move(set_.runs_[run.index]));
  set_.runs_ = std::move(sorted);
  std::ranges::sort(set_.overflows_, {}, [](const Overflow& overflow) {
    return std::tuple(overflow.rank, overflow.graph_id, overflow.step, overflow.file);
  });
}

Result<DumpSet> DumpSet::open(const fs::path& path, const LogSink& tell) {
  DumpSetReader reader(path);
  auto dump = reader.read();
  if (dump) reader.tell_older(path, tell);
  return dump;
}

}  // namespace opdump::dump
