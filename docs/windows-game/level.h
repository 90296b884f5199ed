double milliseconds(void);
void enter_area(unsigned frame);
void decode_chunk(void);
