/* Only that the header compiles as C and that the library is found, at link time and at run time. */
#include <opdump/opdump_torch.h>

int main(void) { return opdump_torch_active(); }
