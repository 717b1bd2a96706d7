// What print() and the pager share: where stdout's text goes.
#pragma once

#include <string>
#include <string_view>

namespace opdump::terminal {

class HeldOutput {
 public:
  // To stdout, at once or once it is known whether a pager is needed.
  void write(std::string_view text);
  // From now on text is held back. `lines`: of the terminal; `pager`: a command for sh.
  void hold(std::size_t lines, std::string pager);
  // Writes what is held back; what follows is written at once.
  void release();
  // Ends the pager's input and waits for it.
  void finish();
  bool has_pager() const { return pager_pid_ > 0; }

 private:
  void start_pager();

  bool holds_ = false;
  std::size_t lines_ = 0, room_ = 0;
  std::string held_, pager_;
  int pager_pid_ = 0;
};

// The one of this process.
HeldOutput& held_output();

}  // namespace opdump::terminal
