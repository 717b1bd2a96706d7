// A dump: a configuration, and the recordings that make it, one for each device that runs something, opened
// when it first does.
#pragma once

#include <acl/acl_base.h>
#include <acl/acl_dump.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "opdump/opdump.h"

namespace opdump::acl {

using DumpCallback = int32_t (*)(const acldumpChunk*, int32_t);

class Dump {
 public:
  // Reads and checks the file; nothing is created. `dump` is null if it asks for nothing, which an empty file
  // does. Fails with a code of cann.md 1.7.
  static aclError read(const char* path, DumpCallback callback, std::shared_ptr<Dump>& dump);

  // The same of a configuration that is at hand; `path` is what messages call it.
  static aclError make(std::string path, std::string text, DumpCallback callback,
                       std::shared_ptr<Dump>& dump);

  ~Dump() { close(); }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;

  // Calls `body` with the session of `device`, null if nothing is dumped; one call at a time. Only there:
  // skips() and skip().
  template <typename F>
  auto with_session(std::int32_t device, F&& body) {
    const std::lock_guard lock(mutex_);
    return body(find_session(device));
  }

  // Single operators that `session` does not want, by name: one that was not wanted once never is.
  bool skips(const opdump_session* session, const std::string& op) const {
    return !session || skipped_.contains({session, op});
  }
  void skip(const opdump_session* session, const std::string& op) { skipped_.insert({session, op}); }

  // Files go to `callback` from now on, or to the disk if it is null.
  void set_callback(DumpCallback callback);

  // Waits until everything is on disk; nothing is dumped any more.
  void close();

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  // It waits for operators that fail, and saves what these read.
  bool is_exception() const { return is_exception_; }
  // Where it writes what operators of `device` leave: the root of a data dump, which has directories for time
  // and device; {root}/extra-info/data-dump/{device}/ of an exception dump.
  std::string directory(std::int32_t device) const;

 private:
  Dump() = default;
  opdump_session* find_session(std::int32_t device);
  void close_sessions();

  std::string path_, text_, root_;
  bool is_exception_ = false;
  std::set<std::string> said_;  // of the configuration, when it was checked
  std::mutex mutex_;            // guards the rest
  DumpCallback callback_ = nullptr;
  bool closed_ = false;
  std::map<std::int32_t, opdump_session*> sessions_;
  std::set<std::pair<const opdump_session*, std::string>> skipped_;
};

}  // namespace opdump::acl
