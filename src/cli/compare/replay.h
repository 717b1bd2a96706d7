// The workers that run recorded operators again: python/opdump/_replay in the user's Python. The first
// one imports torch; the others are its forks. They work ahead of the walk.
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
#include "dump/read/dump_set.h"

namespace opdump::cli {

class ReplayWorkers {
 public:
  // `python` is the program; empty: what OPDUMP_PYTHON names, else python3.
  // `limits`: a file of limits that they judge by as well; empty: none.
  explicit ReplayWorkers(std::string python, std::string limits = {});
  // Ends them, whatever they do.
  ~ReplayWorkers();
  ReplayWorkers(const ReplayWorkers&) = delete;
  ReplayWorkers& operator=(const ReplayWorkers&) = delete;

  // To be asked soon: importing torch takes a while. Errors are those of ask().
  void prepare();
  // They will be asked about this dump: an error names the Python that recorded it.
  void introduce(const dump::DumpSet& dump);
  // This will probably be asked: works it out meanwhile. Only for requests whose answers depend on no others.
  void expect(const blame::Upcoming& expected);
  // The answer to a request of blame/request.h. Errors: not_found, io; usage -- this Python has no torch;
  // config -- the file of limits is none.
  Result<std::string> ask(std::string request);
  // Nothing more is asked: their memory is given back meanwhile.
  void end();

 private:
  class Worker;
  using Answer = std::future<Result<std::string>>;
  Result<> start();
  Result<> check_python();
  std::string python_, limits_, recorded_with_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<std::string, std::pair<std::size_t, Answer>> expected_;  // by request: worker, answer
  std::unordered_map<std::string, std::vector<std::uint64_t>> given_;  // elements, by function and worker
  std::size_t others_ = 0;  // that answer, beside the first one; known once that is greeted
  Answer greeted_;          // of the first worker, until it is looked at
};

}  // namespace opdump::cli
