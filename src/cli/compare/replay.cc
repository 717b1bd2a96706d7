#include "cli/compare/replay.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/process/line_server.h"
#include "base/text/json.h"
#include "base/worker_pool.h"
#include "blame/evidence.h"
#include "cli/python_package.h"
#include "compare/names.h"
#include "terminal/output.h"

namespace opdump::cli {

namespace {

constexpr std::size_t kMaxWorkers = 4;  // each needs some hundred megabytes
constexpr int kMaxRestarts = 8;         // of each, which an operator has ended

// "1.13" of "1.13.1": what changes within it changes no operator.
std::string_view release_of(std::string_view version) {
  const std::size_t dot = version.find('.');
  return version.substr(0, dot == version.npos ? dot : version.find('.', dot + 1));
}

}  // namespace

// One process and the thread that talks to it. A process that an operator ends is followed by another one.
class ReplayWorkers::Worker {
 public:
  // `greeting`: the request that each process gets first.
  Worker(LineServer server, std::vector<std::string> command, std::string greeting)
      : server_(std::move(server)),
        command_(std::move(command)),
        greeting_(std::move(greeting)),
        thread_([this] { work(); }) {}
  ~Worker() {
    end();
    wake_.notify_one();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Ends the process, whatever it does.
  void end() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    server_->kill();
  }

  // Requests are answered one after the other.
  Answer begin(std::string request) {
    const std::lock_guard lock(mutex_);
    Request& waiting = waiting_.emplace_back(std::move(request), std::promise<Result<std::string>>());
    wake_.notify_one();
    return waiting.second.get_future();
  }

 private:
  using Request = std::pair<std::string, std::promise<Result<std::string>>>;

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      Request request = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      auto answer = server_->ask(std::move(request.first));
      lock.lock();
      if (answer)
        has_answered_ = true;
      else if (!stopping_ && has_answered_ && restarts_++ < kMaxRestarts)
        restart();
      request.second.set_value(std::move(answer));
    }
  }

  void restart() {
    auto fresh = LineServer::start(command_);
    if (!fresh) return;
    server_->kill();  // it is waited for
    server_.emplace(std::move(*fresh));
    waiting_.emplace_front(greeting_, std::promise<Result<std::string>>());
  }

  std::optional<LineServer> server_;  // never empty; replaced by the thread, under the mutex
  const std::vector<std::string> command_;
  const std::string greeting_;
  bool has_answered_ = false;  // of the thread, as the next one
  int restarts_ = 0;
  std::mutex mutex_;  // guards the next two
  std::deque<Request> waiting_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // last: it uses the rest
};

ReplayWorkers::ReplayWorkers(std::string python, std::string limits)
    : python_(std::move(python)), limits_(std::move(limits)), is_chosen_(true) {
  if (!python_.empty()) return;
  const char *const chosen = std::getenv("OPDUMP_PYTHON"), *const own = std::getenv("OPDUMP_OWN_PYTHON");
  const bool is_named = chosen != nullptr && *chosen != '\0';
  is_chosen_ = is_named && (own == nullptr || std::string_view(own) != chosen);
  python_ = is_named ? chosen : "python3";
}

ReplayWorkers::~ReplayWorkers() = default;

Result<> ReplayWorkers::start() {
  OPDUMP_TRY(const auto package, find_python_package());
  const std::size_t count = std::min<std::size_t>(worker_count(0), kMaxWorkers);
  std::vector<std::string> command{python_, "-B", (package / "opdump/_replay").string(),
                                   std::to_string(count - 1)};
  OPDUMP_TRY(auto servers, LineServer::start(command, count));
  command.back() = "0";
  const std::string greeting =
      limits_.empty() ? blame::make_forget_request() : blame::make_limits_request(limits_);
  for (LineServer& server : servers) {
    workers_.push_back(std::make_unique<Worker>(std::move(server), command, greeting));
    Answer answer = workers_.back()->begin(greeting);
    if (workers_.size() == 1) greeted_ = std::move(answer);
  }
  return ok();
}

void ReplayWorkers::prepare() {
  if (workers_.empty() && !is_settled_) static_cast<void>(start());
}

void ReplayWorkers::introduce(const dump::DumpSet& dump) {
  auto python = recorded_python(dump);
  if (python && std::ranges::find(recorded_, python->path, &RecordedPython::path) == recorded_.end())
    recorded_.push_back(std::move(*python));
  if (std::string torch = recorded_torch(dump); !torch.empty()) recorded_torches_.push_back(std::move(torch));
}

void ReplayWorkers::expect(const blame::Upcoming& expected) {
  if (expected_.contains(expected.request)) return;
  prepare();
  if (workers_.empty()) return;  // why not is said when it is asked
  // Not whoever is free: a worker knows what it did before, and two calls shall give one answer. Operators of
  // one function take about as long as they are large.
  std::vector<std::uint64_t>& given = given_[expected.function];
  given.resize(greeted_.valid() ? workers_.size() : others_ + 1);
  const auto least = std::ranges::min_element(given);
  *least += expected.elements;
  const auto place = static_cast<std::size_t>(least - given.begin());
  expected_.try_emplace(expected.request, place, workers_[place]->begin(expected.request));
}

// What this Python lacks, in words; empty if it runs operators.
Result<std::string> ReplayWorkers::start_and_greet() {
  if (workers_.empty()) {
    OPDUMP_CHECK_OK(find_python_package());
    const auto started = start();
    if (!started && (is_chosen_ || started.error().code() != Code::not_found)) return started.error();
    if (!started) return started.error().message();
  }
  const auto reply = greeted_.get();
  std::string lacks = "does it have torch?";
  if (reply) {
    const auto answer = parse_json(*reply);
    if (!answer.is_object() || !answer.contains("lacks")) {
      others_ = answer.is_object() ? answer.value("others", std::size_t(0)) : 0;
      torch_ = answer.is_object() ? answer.value("torch", "") : "";
      OPDUMP_CHECK_OK(blame::parse_acknowledged(*reply));
      return std::string();
    }
    lacks = compare::one_line(answer.value("lacks", lacks));
  } else if (reply.error().code() != Code::internal) {
    return reply.error();
  }
  return lacks;
}

void ReplayWorkers::change_python(const std::string& python) {
  workers_.clear();
  expected_.clear();
  given_.clear();
  torch_.clear();
  python_ = python;
}

// Whether what a run's torch did can be done again: its operators, and their schemas. That of either run will
// do where the two runs have other ones.
bool ReplayWorkers::has_recorded_release() const {
  return recorded_torches_.empty() || std::ranges::any_of(recorded_torches_, [&](const std::string& torch) {
           return release_of(torch) == release_of(torch_);
         });
}

// Says so if this Python has another torch than the runs had. If the user has not chosen it, one that
// recorded a run and still has the torch of then takes its place.
void ReplayWorkers::prefer_recorded_release() {
  if (has_recorded_release()) return;
  const std::string first = python_;
  std::string why = first + " has torch " + torch_ + ", and the run was recorded with torch " +
                    compare::one_line(recorded_torches_.front());
  if (!is_chosen_) {
    why = try_recorded(std::move(why), Wanted::recorded_release);
    if (python_ != first && (torch_.empty() || !has_recorded_release())) {
      change_python(first);
      static_cast<void>(start_and_greet());  // as before
    }
  }
  terminal::print_remark(LogLevel::warning, why);
}

// Finds one that runs operators: the one that was chosen, else python3, else one that recorded a run.
Result<> ReplayWorkers::settle_python() {
  if (is_settled_) return ok();
  is_settled_ = true;
  OPDUMP_TRY(const std::string lacks, start_and_greet());
  if (lacks.empty()) {
    prefer_recorded_release();
    return ok();
  }
  std::string why = python_ + " cannot run operators again (" + lacks + ")";
  if (is_chosen_) {
    why += "; --python names another one";
    if (!recorded_.empty() && recorded_.front().path != python_)
      why += ", as " + compare::one_line(recorded_.front().path) + ", which recorded the run";
    return Error(Code::usage, why);
  }
  why = try_recorded(std::move(why), Wanted::torch);
  if (!torch_.empty()) {
    terminal::print_remark(LogLevel::warning, why);
  } else {
    workers_.clear();
    reason_ = std::move(why);
  }
  return ok();
}

// What is to be said of the Pythons that recorded the runs, behind `why` another one is wanted. If one of
// them is what is wanted, it runs operators from now on.
std::string ReplayWorkers::try_recorded(std::string why, Wanted wanted) {
  for (const RecordedPython& recorded : recorded_) {
    const std::string name = compare::one_line(recorded.path) + ", which recorded the run";
    std::error_code error;
    if (!std::filesystem::exists(recorded.path, error)) {
      why += ", and " + name + ", is gone";
    } else if (!has_recorded_here(recorded.path)) {
      why += ", and the dump names " + name +
             ": it has not recorded for you on this machine, and is not started";
    } else {
      change_python(recorded.path);
      const auto lacks = start_and_greet();
      const std::string has =
          "has torch " + torch_ + " now, and had " + compare::one_line(recorded.torch) + " then";
      const bool is_another = !recorded.torch.empty() && release_of(torch_) != release_of(recorded.torch);
      if (!torch_.empty() && wanted == Wanted::recorded_release && !has_recorded_release()) {
        why += ", and ";
        why += name;
        why += ", ";
        why += has;
        continue;
      }
      if (!torch_.empty()) {
        why += wanted == Wanted::torch ? ": they run in " : ": operators run again in ";
        why += name;
        if (is_another) why += "; it ";
        if (is_another) why += has;
        return why;
      }
      why += ", nor can " + name + " (" + (lacks ? *lacks : lacks.error().message()) + ")";
    }
  }
  return why + "; --python names another one";
}

Result<std::string> ReplayWorkers::ask(std::string request) {
  OPDUMP_CHECK_OK(settle_python());
  if (workers_.empty()) return Error(Code::unsupported, reason_);
  if (auto expected = expected_.extract(request)) {
    auto& [place, promised] = expected.mapped();
    if (place <= others_) {
      auto answer = promised.get();
      const bool has_ended = !answer && answer.error().code() == Code::internal;
      if (!has_ended || workers_.size() == 1) return answer;  // else: by itself, with more memory
    }
  }
  return workers_.front()->begin(std::move(request)).get();
}

void ReplayWorkers::end() {
  for (const auto& worker : workers_) worker->end();
}

}  // namespace opdump::cli
