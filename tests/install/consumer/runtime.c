/* What programs share with the runtime, alone. */
#include <hiaton/types.h>

int main(void) { return HIA_OK; }
