// The workers that run recorded operators again: python/opdump/_replay in a Python with torch. The first one
// imports torch; the others are its forks. They work ahead of the walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "blame/request.h"
#include "cli/compare/recorded_python.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

class ReplayWorkers {
 public:
  // `python` is the program; empty: what OPDUMP_PYTHON names, else python3 or, if that has no torch or
  // another one than the run had, the Python that recorded the run. OPDUMP_PYTHON is none that the user has
  // chosen where OPDUMP_OWN_PYTHON has the same: the Python of an opdump that pip has installed. `limits`: a
  // file of limits that they judge by as well; empty: none.
  explicit ReplayWorkers(std::string python, std::string limits = {});
  // Ends them, whatever they do.
  ~ReplayWorkers();
  ReplayWorkers(const ReplayWorkers&) = delete;
  ReplayWorkers& operator=(const ReplayWorkers&) = delete;

  // To be asked soon: importing torch takes a while. Errors are those of ask().
  void prepare();
  // They will be asked about this dump, among others.
  void introduce(const dump::DumpSet& dump);
  // This will probably be asked: works it out meanwhile. Only for requests whose answers depend on no others.
  void expect(const blame::Upcoming& expected);
  // The answer to a request of blame/request.h. Errors: those of blame::Replay; not_found, io; usage -- the
  // Python that the user has chosen has no torch; config -- the file of limits is none.
  Result<std::string> ask(std::string request);
  // Nothing more is asked: their memory is given back meanwhile.
  void end();

 private:
  class Worker;
  using Answer = std::future<Result<std::string>>;
  Result<> start();
  Result<std::string> start_and_greet();
  Result<> settle_python();
  enum class Wanted { torch, recorded_release };  // any torch, or one of a release that recorded a run
  std::string try_recorded(std::string why, Wanted wanted);
  void prefer_recorded_release();
  bool has_recorded_release() const;
  void change_python(const std::string& python);
  std::string python_, limits_;
  bool is_chosen_;                             // by the user
  bool is_settled_ = false;                    // `python_` is what runs operators, or none does
  std::vector<RecordedPython> recorded_;       // without doubles
  std::vector<std::string> recorded_torches_;  // versions
  std::string torch_;                          // the version that python_ has; empty if it has none
  std::string reason_;                         // why there is none
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<std::string, std::pair<std::size_t, Answer>> expected_;  // by request: worker, answer
  std::unordered_map<std::string, std::vector<std::uint64_t>> given_;  // elements, by function and worker
  std::size_t others_ = 0;  // that answer, beside the first one; known once that is greeted
  Answer greeted_;          // of the first worker, until it is looked at
};

}  // namespace opdump::cli
