from tests.web.test_browser import *
def test_shot(tab, address, town):
    tab.goto(f"{address}/signin"); tab.fill("[name=login]","ana"); tab.fill("[name=password]","correct horse"); tab.get_by_role("button",name="Sign in").click(); tab.wait_for_load_state()
    tab.goto(f"{address}/detections/{town.detection}")
    tab.screenshot(path=f"/tmp/t-L5/d{tab.viewport_size['width']}.png")
