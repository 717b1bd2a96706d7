// What the caller of a session chooses, beside the plan.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "capture/jobs/job.h"
#include "dump/write/folder/existing_dump.h"
#include "dump/write/scheme_writer.h"

namespace opdump::capture {

struct SessionOptions {
  std::uint32_t rank = 0;
  std::uint32_t device_id = 0;
  std::string runtime;
  std::string process;  // of several that record into one rank; empty for the main one
  std::uint64_t memory_limit_bytes = 1 << 30;
  unsigned threads = 0;  // 0: as many as the work suits, at most 4
  LogSink log;
  dump::FileSink write_file;   // null: files go to the disk
  bool reports_graph = false;  // opdump_options.reports_graph
  dump::Existing existing = dump::Existing::refuse;
  bool checks_reads = false;              // opdump_options.check_reads
  bool warns_of_addition = false;         // if the recording is added to a dump
  void (*retain)(void* owner) = nullptr;  // null: nothing is borrowed
  void (*release)(void* owner) = nullptr;
  int (*wait)(void* owner) = nullptr;  // null: no tensor is late

  bool keeps_files() const { return !write_file; }
  Lender lender() const { return {retain, release, wait}; }
};

}  // namespace opdump::capture
