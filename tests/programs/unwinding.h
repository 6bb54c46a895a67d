// The unwinder looks into the table of the ELF file: else it sorts all that the library has of such, 2.8 million steps.
// g++ -static -Wl,--eh-frame-hdr,--allow-multiple-definition
extern "C" {
void __register_frame_info(const void *, void *) {}
void *__deregister_frame_info(const void *) { return nullptr; }
}
