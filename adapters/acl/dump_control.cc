#include "dump_control.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "failure.h"
#include "opdump/opdump_onnxruntime.h"

namespace opdump::acl {
namespace {

// With a callback and no configuration everything is dumped (cann.md 2.1).
constexpr const char* kEverything = R"({"dump":{"dump_path":"./","dump_list":[{}]}})";

void write_log(void*, int level, const char* line) {
  std::fprintf(stderr, "opdump: %s%s\n", level >= OPDUMP_WARNING ? "warning: " : "", line);
}

// Hands a part of a file to the program, in pieces of at most 64 MiB.
int pass_chunk(void* user, const opdump_file_chunk* chunk) {
  const auto callback = reinterpret_cast<DumpCallback>(user);
  constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;
  std::uint64_t done = 0;
  do {
    const std::uint64_t size = std::min(kPiece, chunk->byte_count - done);
    std::vector<unsigned char> memory(sizeof(acldumpChunk) + size);
    auto* piece = reinterpret_cast<acldumpChunk*>(memory.data());
    std::strncpy(piece->fileName, chunk->path, sizeof piece->fileName - 1);
    piece->bufLen = static_cast<std::uint32_t>(size);
    piece->isLastChunk = chunk->is_last && done + size == chunk->byte_count;
    piece->offset = chunk->offset < 0 ? -1 : chunk->offset + static_cast<std::int64_t>(done);
    if (size > 0)  // behind the last member; the size of the struct is a little more
      std::memcpy(memory.data() + offsetof(acldumpChunk, dataBuf),
                  static_cast<const unsigned char*>(chunk->data) + done, size);
    if (const int failed = callback(piece, static_cast<std::int32_t>(memory.size())); failed != 0)
      return failed;
    done += size;
  } while (done < chunk->byte_count);
  return 0;
}

int drop_chunk(void*, const opdump_file_chunk*) { return 0; }

opdump_options make_options(const std::string& path, const char* text) {
  opdump_options options{};
  options.size = sizeof options;
  options.config_path = path.c_str();
  options.config_text = text;
  options.dialect = "acl";
  return options;
}

aclError session_failure() {
  const int code = opdump_last_error_code();
  return fail(code != 0 ? code : ACL_ERROR_INTERNAL_ERROR, opdump_last_error());
}

// Opens with files going nowhere: the configuration is checked, and nothing is created.
aclError check_config(const std::string& path, const char* text) {
  opdump_options options = make_options(path, text);
  options.write_file = drop_chunk;
  opdump_session* session = nullptr;
  if (opdump_open(&options, &session) != OPDUMP_OK) return session_failure();
  opdump_close(session);
  return ACL_SUCCESS;
}

}  // namespace

aclError Dump::check() const { return check_config(path_, text_.c_str()); }

opdump_session* Dump::find_session(std::int32_t device) {
  if (closed_) return nullptr;
  const auto [found, is_new] = sessions_.emplace(device, nullptr);
  if (!is_new) return found->second;
  opdump_options options = make_options(path_, text_.c_str());
  opdump_onnx_prepare(&options);
  options.device_id = device;
  options.log = write_log;
  if (callback_) {
    options.write_file = pass_chunk;
    options.write_file_user = reinterpret_cast<void*>(callback_);
  }
  // The program runs on without a dump if it cannot be made, as it would with any other loss.
  if (opdump_open(&options, &found->second) != OPDUMP_OK)
    write_log(nullptr, OPDUMP_WARNING, opdump_last_error());
  return found->second;
}

void Dump::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [device, session] : sessions_)
    if (opdump_close(session) != OPDUMP_OK) write_log(nullptr, OPDUMP_WARNING, opdump_last_error());
  sessions_.clear();
}

DumpControl& DumpControl::instance() {
  static auto* control = new DumpControl;  // never destroyed: threads may outlive static objects
  return *control;
}

bool DumpControl::is_initialised() {
  const std::lock_guard lock(mutex_);
  return initialised_;
}

// Reads what is checked, so that what is checked is what is used. An empty file is no configuration.
aclError DumpControl::read_config(const char* path, std::string& text) {
  if (const aclError code = check_config(path, nullptr); code != ACL_SUCCESS) return code;
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), {});
  return ACL_SUCCESS;
}

aclError DumpControl::switch_to(std::string path, std::string text) {
  if (dump_) dump_->close();
  dump_ = std::make_shared<Dump>(std::move(path), std::move(text), callback_);
  return ACL_SUCCESS;
}

aclError DumpControl::initialise(const char* path) {
  const std::lock_guard lock(mutex_);
  if (initialised_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "EP0008: aclInit is called a second time");
  std::string text;
  if (path && *path) {
    if (const aclError code = read_config(path, text); code != ACL_SUCCESS) return code;
  }
  initialised_ = true;
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false, true);
  configured_ = config.is_object() && config.contains("dump") && !config["dump"].empty();
  return configured_ ? switch_to(path, text) : ACL_SUCCESS;
}

aclError DumpControl::finalise() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_REPEAT_FINALIZE, "EP0008: aclFinalize without aclInit");
  if (dump_) dump_->close();
  dump_.reset();
  initialised_ = dumping_ = configured_ = dumps_arguments_ = false;
  callback_ = nullptr;
  return ACL_SUCCESS;
}

aclError DumpControl::init_dump() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlInitDump before aclInit");
  if (configured_)
    return fail(ACL_ERROR_DUMP_ALREADY_RUN, "EP0008: aclInit's configuration has a dump already");
  if (dumping_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "EP0008: aclmdlInitDump is called a second time");
  dumping_ = true;
  return callback_ ? switch_to("callback", kEverything) : ACL_SUCCESS;
}

aclError DumpControl::set_dump(const char* path) {
  const std::lock_guard lock(mutex_);
  if (!path) return fail_null("aclmdlSetDump", "dumpCfgPath");
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlSetDump before aclInit");
  if (!dumping_) return fail(ACL_ERROR_DUMP_NOT_RUN, "EP0008: aclmdlSetDump without aclmdlInitDump");
  std::string text;
  if (const aclError code = read_config(path, text); code != ACL_SUCCESS) return code;
  return switch_to(path, text);
}

aclError DumpControl::finalise_dump() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlFinalizeDump before aclInit");
  if (!dumping_) return fail(ACL_ERROR_DUMP_NOT_RUN, "EP0008: aclmdlFinalizeDump without aclmdlInitDump");
  dumping_ = false;
  if (dump_) dump_->close();
  dump_.reset();
  return ACL_SUCCESS;
}

// The callback may come before or after the configuration; what was loaded before it goes on as it was.
aclError DumpControl::set_callback(DumpCallback callback) {
  const std::lock_guard lock(mutex_);
  callback_ = callback;
  if (dump_) return switch_to(dump_->path(), dump_->text());
  return dumping_ ? switch_to("callback", kEverything) : ACL_SUCCESS;
}

void DumpControl::clear_callback() {
  const std::lock_guard lock(mutex_);
  callback_ = nullptr;
  if (!dump_) return;
  dump_->close();
  if (dump_->text() == kEverything)
    dump_.reset();
  else
    dump_ = std::make_shared<Dump>(dump_->path(), dump_->text(), nullptr);
}

aclError DumpControl::start_arguments(const char* path) {
  const std::lock_guard lock(mutex_);
  if (dumps_arguments_)
    return fail(ACL_ERROR_DUMP_ALREADY_RUN, "EP0008: aclopStartDumpArgs is called a second time");
  const nlohmann::json config{{"dump",
                               {{"dump_path", path},
                                {"dump_mode", "all"},
                                {"dump_op_switch", "on"},
                                {"dump_list", nlohmann::json::array()}}}};
  auto dump = std::make_shared<Dump>("aclopStartDumpArgs", config.dump(), callback_);
  if (const aclError code = dump->check(); code != ACL_SUCCESS) return code;
  before_arguments_ = std::exchange(dump_, std::move(dump));
  dumps_arguments_ = true;
  return ACL_SUCCESS;
}

aclError DumpControl::stop_arguments() {
  const std::lock_guard lock(mutex_);
  if (!dumps_arguments_)
    return fail(ACL_ERROR_DUMP_NOT_RUN, "EP0008: aclopStopDumpArgs without aclopStartDumpArgs");
  dumps_arguments_ = false;
  dump_->close();
  dump_ = std::move(before_arguments_);
  return ACL_SUCCESS;
}

std::shared_ptr<Dump> DumpControl::current() {
  const std::lock_guard lock(mutex_);
  return dump_;
}

std::string DumpControl::config_text() {
  const std::lock_guard lock(mutex_);
  return dump_ ? dump_->text() : "";
}

}  // namespace opdump::acl
