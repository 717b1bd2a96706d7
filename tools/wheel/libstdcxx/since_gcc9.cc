// Constructors without arguments that libstdc++ has since gcc 9, and that its headers call. Programs on older systems have the
// ones with an argument; those of the two C++ ABIs differ in the name.
#include <ios>
#include <new>
#include <sstream>

#if _GLIBCXX_USE_CXX11_ABI
#define NAME(kind) _ZNSt7__cxx11##kind##IcSt11char_traitsIcESaIcEEC1Ev
#else
#define NAME(kind) _ZNSt##kind##IcSt11char_traitsIcESaIcEEC1Ev
#endif

extern "C" {
void NAME(19basic_ostringstream)(void* place) { new (place) std::ostringstream(std::ios_base::out); }
void NAME(19basic_istringstream)(void* place) { new (place) std::istringstream(std::ios_base::in); }
void NAME(18basic_stringstream)(void* place) {
  new (place) std::stringstream(std::ios_base::in | std::ios_base::out);
}
}
