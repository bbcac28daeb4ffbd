"""Images as pages: upright, in RGB, on white paper, scaled down only; bombs and ruins refused."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from docpruner.errors import PageError
from docpruner.pages.document import open_document
from docpruner.pages.parsed_page import ParsedPage
from pages.made import parsed_pages

PLENTY = 10_000_000


def saved(path: Path, image: Image.Image, exif: Image.Exif | None = None) -> Path:
    image.save(path, exif=exif or Image.Exif())
    return path


def only_page(path: Path, pixels: int = PLENTY) -> ParsedPage:
    (page,) = parsed_pages(path, pixels=pixels)
    return page


def picture(path: Path, pixels: int = PLENTY) -> Image.Image:
    return only_page(path, pixels).picture.image()


def red_left(width: int = 40, height: int = 20) -> Image.Image:
    """White, with its left half red."""
    image = Image.new("RGB", (width, height), "white")
    image.paste((255, 0, 0), (0, 0, width // 2, height))
    return image


def noise(width: int, height: int) -> Image.Image:
    random = np.random.default_rng(7)
    return Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".JPEG", ".tif", ".tiff", ".webp"])
def test_every_kind_is_a_page(tmp_path, suffix):
    page = only_page(saved(tmp_path / f"a{suffix}", red_left()))
    assert (page.number, page.size) == (1, (40, 20))
    assert (page.words, page.words_from) == ((), "nowhere")
    red, green, _ = page.picture.image().getpixel((5, 10))
    assert red > 230 > 60 > green


def test_the_ending_may_name_another_kind_of_image(tmp_path):
    red_left().save(tmp_path / "a.jpg", format="PNG")
    assert only_page(tmp_path / "a.jpg").size == (40, 20)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tiff", ".webp"])
def test_a_turned_image_is_upright(tmp_path, suffix):
    """Orientation 6: what was stored on the left is shown on top."""
    exif = Image.Exif()
    exif[0x0112] = 6
    page = only_page(saved(tmp_path / f"a{suffix}", red_left(), exif))
    assert page.size == page.picture.image().size == (20, 40)
    top, bottom = page.picture.image().getpixel((10, 5)), page.picture.image().getpixel((10, 35))
    assert top[1] < 60 < 230 < bottom[1]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_all_eight_ways_to_turn_agree_with_pillow(tmp_path, orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path / "a.png", noise(5, 3), exif)
    with Image.open(path) as image:
        expected = ImageOps.exif_transpose(image)
    assert picture(path).tobytes() == expected.tobytes()


def test_a_png_may_say_after_its_pixels_how_it_is_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    content = saved(tmp_path / "a.png", red_left(), exif).read_bytes()
    start = content.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(content[start : start + 4], "big")
    last = content.index(b"IEND") - 4
    moved = content[:start] + content[end:last] + content[start:end] + content[last:]
    (tmp_path / "a.png").write_bytes(moved)
    page = only_page(tmp_path / "a.png")
    assert page.size == page.picture.image().size == (20, 40)


def test_an_image_can_be_drawn_to_one_size_after_another(tmp_path):
    for suffix in (".png", ".jpg", ".tiff", ".webp"):
        path = saved(tmp_path / f"a{suffix}", red_left(400, 200))
        with open_document(path) as document:
            areas = [document.parsed_page(1, pixels=n).picture for n in (200, 20_000, PLENTY, 200)]
        assert [area.width for area in areas] == [20, 200, 400, 20]


def test_what_is_transparent_is_white_paper(tmp_path):
    image = Image.new("RGBA", (10, 10), (0, 0, 0, 0))
    assert picture(saved(tmp_path / "a.png", image)).getpixel((5, 5)) == (255, 255, 255)


def test_a_transparent_colour_of_a_palette_is_white_paper(tmp_path):
    image = Image.new("P", (10, 10), 0)
    image.putpalette([0, 0, 0, 255, 0, 0])
    image.putpixel((0, 0), 1)
    image.save(tmp_path / "a.png", transparency=0)
    drawn = picture(tmp_path / "a.png")
    assert drawn.getpixel((0, 0)) == (255, 0, 0)
    assert drawn.getpixel((5, 5)) == (255, 255, 255)


def test_sixteen_bits_of_grey_become_eight(tmp_path):
    image = Image.fromarray(np.array([[0, 32768, 65535]], dtype=np.uint16))
    drawn = picture(saved(tmp_path / "a.png", image))
    assert [drawn.getpixel((x, 0))[0] for x in range(3)] == [0, 127, 255]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "YCbCr", "I", "F"])
def test_every_mode_is_drawn_in_rgb(tmp_path, mode):
    drawn = picture(saved(tmp_path / "a.tiff", red_left().convert(mode)), 200)
    assert (drawn.mode, drawn.size) == ("RGB", (20, 10))


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_a_large_image_is_scaled_down_to_the_area(tmp_path, suffix):
    page = only_page(saved(tmp_path / f"a{suffix}", red_left(4000, 2000)), 20_000)
    assert page.size == (4000, 2000)
    assert page.picture.image().size == (200, 100)
    assert page.picture.image().getpixel((50, 50))[1] < 10


def test_a_small_image_is_never_scaled_up(tmp_path):
    image = noise(30, 20)
    drawn = picture(saved(tmp_path / "a.png", image))
    assert drawn.tobytes() == image.tobytes()


def test_pages_of_equal_pixels_have_equal_content(tmp_path):
    image = noise(30, 20)
    one, two = saved(tmp_path / "a.png", image), saved(tmp_path / "b.tiff", image)
    assert only_page(one).content_hash == only_page(two).content_hash
    assert (
        only_page(saved(tmp_path / "c.png", noise(31, 20))).content_hash
        != only_page(one).content_hash
    )


def many_frames(path: Path) -> Path:
    frames = [Image.new("L", (10 + number, 5), 60 * number) for number in range(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    return path


def test_each_frame_of_a_tiff_is_a_page(tmp_path):
    pages = list(parsed_pages(many_frames(tmp_path / "fax.tif"), pixels=PLENTY))
    assert [page.number for page in pages] == [1, 2, 3, 4]
    assert [page.size for page in pages] == [(10, 5), (11, 5), (12, 5), (13, 5)]
    assert [page.picture.image().getpixel((0, 0))[0] for page in pages] == [0, 60, 120, 180]


def test_frames_can_be_read_in_any_order(tmp_path):
    path = many_frames(tmp_path / "fax.tif")
    with open_document(path) as document:
        widths = [document.parsed_page(n, pixels=PLENTY).size[0] for n in (3, 1, 1, 4, 2)]
    assert widths == [12, 10, 10, 13, 11]


def test_a_broken_frame_costs_only_itself(tmp_path):
    frames = [noise(60, 40) for _ in range(3)]
    path = tmp_path / "fax.tif"
    frames[0].save(path, save_all=True, append_images=frames[1:], compression="tiff_adobe_deflate")
    content = bytearray(path.read_bytes())
    with Image.open(path) as image:
        image.seek(1)
        start = image.tag_v2[273][0]  # StripOffsets
    content[start : start + 200] = bytes(200)
    path.write_bytes(content)
    with open_document(path) as document:
        assert document.count == 3
        for number in (1, 3, 1):
            assert document.parsed_page(number, pixels=PLENTY).picture.rgb == frames[0].tobytes()
            with pytest.raises(
                PageError, match=r"fax\.tif#2: is damaged or cut off; get a fresh copy"
            ):
                document.parsed_page(2, pixels=PLENTY)


def test_frames_lost_with_the_end_of_a_file_are_said_to_be(tmp_path):
    path = many_frames(tmp_path / "fax.tif")
    with Image.open(path) as image:
        image.seek(2)
        start = image._frame_pos[2]
    path.write_bytes(path.read_bytes()[: start + 10])
    with open_document(path) as document:
        assert document.count == 3
        assert document.parsed_page(2, pixels=PLENTY).size == (11, 5)
        for _ in range(2):
            with pytest.raises(PageError, match=r"fax\.tif#3: is damaged or cut off"):
                document.parsed_page(3, pixels=PLENTY)


def test_a_bomb_is_refused_by_its_header(tmp_path):
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    path = tmp_path / "bomb.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    with pytest.raises(
        PageError, match=r"bomb\.png: is too large \(60000×60000 pixels\); scale it down"
    ):
        open_document(path)


def test_an_image_beyond_pillows_own_limit_is_read(tmp_path):
    """Pillow warns at 89 million pixels and refuses twice as many; 190 million are fine here."""
    limit = Image.MAX_IMAGE_PIXELS
    path = tmp_path / "large.png"
    Image.new("1", (19_000, 10_000), 1).save(path)
    page = only_page(path, 100_000)
    assert page.size == (19_000, 10_000)
    assert page.picture.image().getpixel((7, 7)) == (255, 255, 255)
    assert limit == Image.MAX_IMAGE_PIXELS


CUT_OFF = r": is damaged or cut off; get a fresh copy"


def text_page() -> Image.Image:
    image = Image.new("RGB", (600, 800), "white")
    for y in range(20, 780, 20):
        ImageDraw.Draw(image).text((30, y), "Quarterly report of the harbour", "black")
    return image


@pytest.mark.parametrize("pixels", [20_000, PLENTY])
@pytest.mark.parametrize("image", [noise(300, 300), text_page()], ids=["noise", "text"])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("TIFF", {"compression": "jpeg"}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
    ],
    ids=str,
)
def test_an_image_cut_off_is_an_error(tmp_path, kind, options, share, image, pixels):
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    path = tmp_path / f"a.{kind.lower()}"
    path.write_bytes(buffer.getvalue()[: int(share * len(buffer.getvalue()))])
    with pytest.raises(PageError, match=CUT_OFF):
        list(parsed_pages(path, pixels=pixels))


@pytest.mark.parametrize("pixels", [None, PLENTY])
def test_a_png_with_a_hole_is_an_error(tmp_path, pixels):
    """Pillow decodes up to the hole, and would leave the rest of the page black."""
    content = bytearray(saved(tmp_path / "a.png", text_page()).read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = bytes(200)
    (tmp_path / "a.png").write_bytes(content)
    with open_document(tmp_path / "a.png") as document:
        for _ in range(2):
            with pytest.raises(PageError, match=CUT_OFF):
                document.parsed_page(1, pixels=pixels)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"%PDF-1.7", "looks like a PDF"),
        (b"GIF89a", "looks like a GIF image"),
        (b"hello", "starts with 'hello'"),
    ],
)
def test_what_is_no_image_is_said_to_be_something_else(tmp_path, content, what):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(PageError, match=f"a.png: is not an image: it {what}"):
        list(parsed_pages(tmp_path / "a.png"))
