// Several networks at once: -m is a time directory, -f a directory of rules (cann.md 4.13).
#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "format/graphs/fusion_json.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/read/rules_text.h"
#include "msaccucmp/verbs/compare.h"
#include "msaccucmp/verbs/compare_setup.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;
using Done = Outcome<std::monostate>;

constexpr std::string_view kPathFormat = "dump_path/time/device_id/model_name/model_id/dump_step/dump_file";

// What lies directly in `path`, sorted.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// "ge_default_20210420113943_73": {"20210420113943", "73"}.
std::vector<std::string> numbers_in(std::string_view name) {
  std::vector<std::string> numbers;
  bool is_open = false;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && !is_open) numbers.emplace_back();
    if (is_digit) numbers.back() += c;
    is_open = is_digit;
  }
  return numbers;
}

class Batch {
 public:
  Batch(const ComparisonArguments& arguments, Log& log) : arguments_(arguments), log_(log) {}

  Done find() {
    dump_ = real_text(arguments_.mine);
    if (arguments_.op && !arguments_.op->empty())
      return log_.fail(Status::invalid_parameter,
                       "the " + *arguments_.op +
                           " single operator comparison is not supported for batch network comparison.");
    OPDUMP_TRY([[maybe_unused]] const std::monostate checked, check_directory(dump_));
    const std::string last = dump_.substr(dump_.rfind('/') + 1);
    if (last.empty() || !std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; }))
      return log_.fail(Status::invalid_path, "The " + dump_ + " path must end with a timestamp.");
    OPDUMP_TRY([[maybe_unused]] const std::monostate rules, find_rules(real_text(arguments_.fusion)));
    OPDUMP_TRY([[maybe_unused]] const std::monostate steps, find_steps());
    return join();
  }

  Status compare() const {
    Status status = Status::ok;
    for (const auto& [rules, steps] : jobs_)
      for (const std::string& step : steps) {
        ComparisonArguments one = arguments_;
        one.mine = step;
        one.fusion = rules;
        const auto last = compare_folders(one, prefix_of(step));
        if (!last) return last.error().status;
        const bool was_whole = arguments_.share == nullptr || status != Status::incomplete;
        if (was_whole) status = *last;  // as the original does
      }
    return status;
  }

 private:
  Done check_directory(const std::string& path) {
    const Status status = check_path(path, PathKind::directory, log_);
    if (status != Status::ok) return Failure{status, ""};
    return std::monostate{};
  }

  Done find_rules(const std::string& folder) {
    for (const std::string& name : names_in(folder)) {
      if (!name.ends_with(".json")) continue;
      const std::string path = folder + "/" + name;
      warn_of_size(path, log_);
      const auto text = RulesText::read(path);
      if (!text) return log_.fail(Status::open_file, text.error().message());
      const auto graphs = format::decode_graph_names(text->text(), path);
      if (!graphs) return report_bad_rules(graphs.error(), log_);
      for (const std::string& graph : *graphs) rules_[graph] = path;
    }
    if (rules_.empty())
      return log_.fail(Status::invalid_path, "There is no fusion rule json file in \"'" + folder + "'\".");
    return std::monostate{};
  }

  // {time}/{device}/{model name}/{model id}/{step}: the last step of each.
  Done find_steps() {
    for (const std::string& device : names_in(dump_)) {
      const std::string device_path = dump_ + "/" + device;
      OPDUMP_TRY([[maybe_unused]] const std::monostate checked, check_directory(device_path));
      for (const std::string& model : names_in(device_path)) {
        const std::string model_path = device_path + "/" + model;
        OPDUMP_TRY([[maybe_unused]] const std::monostate checked_model, check_directory(model_path));
        for (const std::string& id : names_in(model_path)) {
          const std::string id_path = model_path + "/" + id;
          OPDUMP_TRY([[maybe_unused]] const std::monostate checked_id, check_directory(id_path));
          const std::vector<std::string> steps = names_in(id_path);
          if (!steps.empty())
            steps_[model].push_back(id_path + "/" + *std::ranges::max_element(steps, is_earlier));
        }
      }
    }
    if (steps_.empty()) return wrong_layout();
    return std::monostate{};
  }

  // Steps are numbers: 10 comes after 9.
  static bool is_earlier(const std::string& a, const std::string& b) {
    const auto left = parse_uint64(a), right = parse_uint64(b);
    return left && right ? *left < *right : a < b;
  }

  Failure wrong_layout() {
    log_.error("The " + dump_ + " does not match the path format,please save dump files in the " +
               std::string(kPathFormat) + " path format");
    return {Status::invalid_path, ""};
  }

  Done join() {
    for (const auto& [graph, rules] : rules_) {
      auto found = steps_.find(graph);
      if (found == steps_.end()) found = steps_.find(fs::path(rules).stem().string());  // {model name}.json
      if (found != steps_.end()) {
        jobs_[rules] = found->second;
        continue;
      }
      OPDUMP_TRY([[maybe_unused]] const std::monostate joined, join_by_number(graph, rules));
    }
    if (jobs_.empty()) return log_.fail(Status::invalid_path, "The " + dump_ + " not match fusion rule file");
    return std::monostate{};
  }

  // A graph of the same number that was built at another time.
  Done join_by_number(const std::string& graph, const std::string& rules) {
    const auto mine = numbers_in(graph);
    for (const auto& [model, paths] : steps_) {
      const auto theirs = numbers_in(model);
      if (mine.size() != 2 || theirs.size() != 2) return wrong_layout();
      if (mine[1] != theirs[1]) continue;
      log_.warn("The " + graph + " and in " + msaccucmp::join(paths, ",") +
                " dump data are not generated at the same time. The result may be incorrect.");
      jobs_[rules] = paths;
    }
    return std::monostate{};
  }

  // "{device}_{model name}_{step}_" of {time}/{device}/{model name}/{model id}/{step}.
  std::string prefix_of(const std::string& step) const {
    const auto parts = split(std::string_view(step).substr(dump_.size() + 1), '/');
    std::string prefix;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i + 2 != parts.size()) prefix.append(parts[i]).append("_");
    return prefix;
  }

  const ComparisonArguments& arguments_;
  Log& log_;
  std::string dump_;
  std::map<std::string, std::string> rules_;               // by the graph's name
  std::map<std::string, std::vector<std::string>> steps_;  // by the model's name
  std::map<std::string, std::vector<std::string>> jobs_;   // by the path of the rules
};

}  // namespace

Status compare_batch(const ComparisonArguments& arguments) {
  Log log;
  Batch batch(arguments, log);
  const auto found = batch.find();
  log.print();
  return found ? batch.compare() : found.error().status;
}

}  // namespace opdump::msaccucmp
